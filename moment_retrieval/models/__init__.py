"""XML, ReLoCLNet, CONQUER, and the blocks they share."""
