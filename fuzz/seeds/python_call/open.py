summarize_the_task('''it's (not closed
[1, {2: 3