"""Caption proxies: how alike two texts are without a trained model (Wray et al., CVPR 2021; METEOR of nltk)."""
