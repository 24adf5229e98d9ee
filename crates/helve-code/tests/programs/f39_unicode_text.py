import unicodedata
text = "Grüße 🎉"
[text.upper(), len(text), unicodedata.name("é"), text.encode().decode()]
# => ["GRÜSSE 🎉",7,"LATIN SMALL LETTER E WITH ACUTE","Grüße 🎉"]
