"""Memory as bookkeeping: integers only, no tensors."""
