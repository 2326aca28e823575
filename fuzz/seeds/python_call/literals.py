r = crop(box=(1, -2.5, 3e2, 0x1F), ok=True, why=None, o={'a': [r'\n', '\x41\u00e9\U0001F389']})
f('''
summarize_the_task("no")
''')
