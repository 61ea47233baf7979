"""Linear discriminants of labels: Fisher's, and RankLDA, which respects their order."""
