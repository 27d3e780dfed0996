"""Reports of one run: the page, the Markdown summary, JUnit, the badge, and the check that reads them back."""
