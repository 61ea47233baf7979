"""Parses and other trees: BLLIP, bracketed trees and SVM-light-TK, PARSEVAL, tree kernels, tree features."""
