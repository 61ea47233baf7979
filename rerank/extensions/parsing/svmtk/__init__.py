"""Examples of SVM-light-TK: trees and vectors, and its models."""
