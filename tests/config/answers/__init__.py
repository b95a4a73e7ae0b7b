"""Every kind of answer that the site gives, by a route each, and a strict reader of what a server makes of it."""
