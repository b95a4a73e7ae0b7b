"""Who is who and who may do what: accounts, log-in, tokens, projects and their members."""
