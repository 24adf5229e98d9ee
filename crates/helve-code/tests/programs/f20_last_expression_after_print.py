result = "kept"
print("shown")
# => "kept"
