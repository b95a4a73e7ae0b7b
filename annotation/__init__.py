"""What there is to judge: corpora, captions, queries, pools, training sets."""
