# What a process leaves for its successor: kept by a resume, given up by everything else.

story 161 resume keeps, restart clears, and the final end forgets
tree decider=exit:10->resume,exit:20->restart,any->stop
  a keeps
boot
expect clear a, S a
exit a 10
reports
expect S a
exit a 20
reports
expect clear a, S a
exit a 1
reports
expect forget a

story A-24 a resume after a failed start keeps nothing
tree decider=any->resume
  a keeps
boot
expect clear a, S a
broken a ENOENT 1
exit a 1
reports
expect S a, clear a, S a

story the sixth resume within a minute is a restart, and clears
tree decider=any->resume
  a keeps
boot
expect clear a, S a
exit a 1
reports
expect S a
exit a 1
reports
expect S a
exit a 1
reports
expect S a
exit a 1
reports
after 10ms
expect S a
exit a 1
reports
after 20ms
expect S a
exit a 1
reports
after 40ms
expect clear a, S a

story a group restart clears what its other members kept, too
tree
  s one_for_all decider=exit:10->resume,default
    a keeps
    b keeps
boot
expect clear a, S a, clear b, S b
exit b 1
reports
expect t a, x a, clear a, S a, clear b, S b

story restart and stop by hand are no resumes
tree
  a keeps
boot
expect clear a, S a
restart a
expect t a, x a, clear a, S a
reply restart a done
stop a
expect t a, x a, forget a
reply stop a done
start a
expect clear a, S a
reply start a done

story a restart because of a watch, in the middle of a resume, is no resume
tree decider=any->resume
  b
  a keeps ready=told watch=b:restart hooks=post_stop
boot
expect S b, clear a, S a
ready a
exit a 1
reports
expect S a
stop b
reply stop b done
reports
expect t b, x b, t a, x a, post_stop a restart, clear a, S a

story a start by hand while the stop of a resumed actor is under way is no resume
tree decider=any->resume
  a keeps ready=told hooks=post_stop
boot
expect clear a, S a
ready a
slow a 500ms
exit a 1
reports
expect S a
stop a
expect t a
start a
reply stop a superseded
after 500ms
expect x a, post_stop a restart, clear a, S a
ready a
reply start a done

story a start by hand in the middle of a resume's backoff only hurries it
tree decider=any->resume
  a keeps backoff=1h/1h/1h/1000/0
boot
expect clear a, S a
exit a 1
reports
start a
expect S a
reply start a done

story an actor that waits for its resume and is restarted with its group keeps nothing
tree
  s one_for_all decider=exit:10->resume,default
    a keeps backoff=1h/1h/1h/1000/0
    b keeps
boot
expect clear a, S a, clear b, S b
exit a 10
reports
expect nothing
exit b 1
reports
expect clear a, S a, clear b, S b
