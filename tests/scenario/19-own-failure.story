story with freeze_while_deciding a supervisor's own failure freezes what outlives it, hooks included
tree
  m both keep_children=untouched freezes=yes ready=told backoff=1s/1s hooks=post_stop,pre_start
    a
    s one_for_one
      b
boot
expect pre_start m start, S m
ready m
expect S a, S b
hook m post_stop lasts 500ms
exit m 1
report failure m exit:1 restart *
expect post_stop m restart, freeze a, freeze b
after 500ms
expect nothing
view b suspended
hook m pre_start lasts 500ms
after 1s
expect pre_start m restart
after 500ms
expect S m
ready m
expect thaw a, thaw b
view a running

story below a failed supervisor stops go on, and starting children stand still when they are ready
tree
  m both keep_children=untouched freezes=yes ready=told
    a
    b ready=told
    c shutdown=5s
boot
expect S m
ready m
expect S a, S b
ready b
expect S c
slow c 2s
stop c
expect t c
restart b
expect t b, x b, S b
exit m 1
report failure m exit:1 restart *
expect freeze a, S m
after 2s
expect x c
reply stop c done
ready b
expect freeze b
reply restart b done
ready m
expect thaw a, thaw b

story what a supervisor with freeze_while_deciding stops in its restart is thawed for that
tree
  m both freezes=yes hooks=pre_restart
    a
boot
expect S m, S a
hook m pre_restart lasts 1s
self_report m disk
report failure m self_report:disk restart *
expect pre_restart m restart, freeze a
after 1s
expect thaw a, t a, x a, t m, x m, S m, S a

story a reload with another policy ends freeze_while_deciding for a supervisor's own failure
tree
  m both keep_children=untouched freezes=yes backoff=10s/10s
    a
boot
expect S m, S a
exit m 1
report failure m exit:1 restart *
expect freeze a
update m freezes=no
expect thaw a
after 10s
expect S m

story a supervisor resumed after its own failure has its children stand still until it is ready
tree decider=any->resume
  m both keep_children=untouched freezes=yes backoff=1s/1s
    a
boot
expect S m, S a
exit m 1
report failure m exit:1 resume *
expect freeze a
after 1s
expect S m, thaw a

story DECISIONS 47 a supervisor without a process has no failure of its own to stand still for
tree
  s one_for_one freezes=yes decider=any->escalate
    a
    b shutdown=5s
    c
boot
expect S a, S b, S c
slow b 1s
exit c 1
report escalated s exit:1
report failure s exit:1 restart *
expect t b
after 1s
expect x b, t a, x a, S a, S b, S c
