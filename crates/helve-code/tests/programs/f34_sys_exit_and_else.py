import sys
result = []
for i in range(3):
    if i == 5: break
else:
    result.append("else")
sys.exit(0)
# => ["else"]
