print(summarize_the_task(summary="a \"b\"\n" 'c' r"\n"))
x = 1  # summarize_the_task("no")
