value = 1234.5678
f"{value:,.2f} {value!r:>12} {'nested ' + str(1)} {value=:.1f}"
# => "1,234.57    1234.5678 nested 1 value=1234.6"
