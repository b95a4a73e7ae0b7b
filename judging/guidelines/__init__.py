"""The guideline: drafts, versions, confirmations; and the policy's versions."""
