"""Small changes to the code that some test must notice: the ledger of them, drawing them, running them."""
