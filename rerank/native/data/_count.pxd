"""The types of counts: int if each fits, else double, with the same values."""

ctypedef fused Count:
    int
    double
