"""How alike two texts are: sentence models and the caption proxies of Wray et al. (CVPR 2021), behind one interface.

``registry.similarity(name)`` gives what ``base.Similarity`` says. All modules but the registry are free of Django.
"""
