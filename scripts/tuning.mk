# Tune on dev, judge on test: N-best lists of translations (BLEU) and of transcripts (WER).
#
#   make -f scripts/tuning.mk RERANK_DATA=... [LEARNER=...] [SCALING=...] [SETS="asr-pocketsphinx ..."] [OUT=tuned]
#
# A set is a folder of RERANK_DATA with {dev,test}.{nbest,ref}.gz in Moses' form. Each step is a file in
# OUT/SET/, made again when what it comes from is newer: dev.store and test.store (convert), LEARNER.model
# (train), LEARNER.scores (predict), LEARNER.txt (eval, with first-best, random and oracle).

RERANK ?= rerank
LEARNER ?= mert
# MIRA's steps are made for features as decoders write them; the perceptrons want equal scales.
SCALING ?= $(if $(filter mira,$(LEARNER)),none,zscore)
OUT ?= tuned
SETS ?= syscomb-wmt10 moses-europarl asr-pocketsphinx

CONFIGS := $(dir $(lastword $(MAKEFILE_LIST)))../configs
config.syscomb-wmt10 := $(CONFIGS)/tune-syscomb.yaml
config.moses-europarl := $(CONFIGS)/tune-europarl.yaml
config.asr-pocketsphinx := $(CONFIGS)/tune-asr.yaml
metric.syscomb-wmt10 := BLEU
metric.moses-europarl := BLEU(lc=1)
metric.asr-pocketsphinx := WER

ifndef RERANK_DATA
$(error RERANK_DATA is not set: it names the folder of the sets)
endif
export RERANK_DATA
$(foreach set,$(SETS),\
  $(if $(config.$(set)),,$(error unknown set $(set)))\
  $(if $(wildcard $(RERANK_DATA)/$(set)/dev.nbest.gz),,$(error $(RERANK_DATA)/$(set)/dev.nbest.gz: no such file)))

.PHONY: all
.SECONDARY:
.SECONDEXPANSION:

all: $(SETS:%=$(OUT)/%/$(LEARNER).txt)
	@for set in $(SETS); do echo; echo "$$set"; echo; cat $(OUT)/$$set/$(LEARNER).txt; done

$(OUT)/%.store: $(RERANK_DATA)/%.nbest.gz $(RERANK_DATA)/%.ref.gz
	@mkdir -p $(@D)
	$(RERANK) convert $< $@ --format moses --refs $(word 2,$^)

$(OUT)/%/$(LEARNER).model: $(OUT)/%/dev.store $$(config.$$*)
	$(RERANK) train $(word 2,$^) --learner $(LEARNER) --scaling $(SCALING) --data $< --format store \
	    --set data.refs=[] --out $@

$(OUT)/%/$(LEARNER).scores: $(OUT)/%/$(LEARNER).model $(OUT)/%/test.store
	$(RERANK) predict $^ --out $@

$(OUT)/%/$(LEARNER).txt: $(OUT)/%/test.store $(OUT)/%/$(LEARNER).scores
	$(RERANK) eval $^ --metric '$(metric.$*)' > $@.part
	@mv $@.part $@
