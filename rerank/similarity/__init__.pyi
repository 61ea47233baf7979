from rerank.similarity.assignment import assign as assign
from rerank.similarity.expression import ItemKernel as ItemKernel
from rerank.similarity.gram_matrices import gram as gram
from rerank.similarity.gram_matrices import item_gram as item_gram
from rerank.similarity.graph import nearest as nearest
from rerank.similarity.spectra import plane as plane
from rerank.similarity.spectra import repaired as repaired
from rerank.similarity.spectra import spectrum as spectrum
