# The exit status of supd where the tree ends by itself.

story DECISIONS 52 an actor named by exit_code_from ends supd in order, with its code
tree
  a
  n never gives_exit
  b
boot
expect S a, S n, S b
exit n 3
report failure n exit:3 stop
expect t b, x b, t a, x a, exit 3

story DECISIONS 52 its normal end is 0
tree
  a
  n transient gives_exit
boot
expect S a, S n
exit n 0
expect t a, x a, exit 0

story DECISIONS 52 128 and the signal that killed it
tree
  a
  n never gives_exit
boot
expect S a, S n
signal n KILL
report failure n signal:KILL stop
expect t a, x a, exit 137

story DECISIONS 52 one that never ran is 70
tree
  a
  n never gives_exit
broken n ENOENT
boot
report failure n exec:ENOENT stop
expect S a, S n, t a, x a, exit 70

story DECISIONS 52 a pre_start that fails before the first run is 70, too: the code of a hook does not count
tree
  a
  n never gives_exit hooks=pre_start
hook n pre_start fails 5
boot
reports
expect S a, pre_start n start, t a, x a, exit 70

story DECISIONS 52 also where it ran before
tree limit=1/60s
  a
  n gives_exit hooks=pre_start
boot
expect S a, pre_start n start, S n
hook n pre_start fails 5
exit n 3
reports
expect pre_start n restart, t a, x a, exit 70

story DECISIONS 52 an actor that is restarted has not ended for good
tree
  a
  n transient gives_exit
boot
expect S a, S n
exit n 3
report failure n exit:3 restart
expect S n
exit n 0
expect t a, x a, exit 0

story DECISIONS 52 a stop by hand is not for good
tree
  a
  n never gives_exit
boot
expect S a, S n
stop n
expect t n, x n
reply stop n done
start n
expect S n
reply start n done
exit n 4
report failure n exit:4 stop
expect t a, x a, exit 4

story DECISIONS 52 an ordered shutdown by command stays 0
tree
  a
  n never gives_exit
answers n 5
boot
expect S a, S n
shutdown
expect t n, x n, t a, x a, exit 0

story DECISIONS 52 with auto_shutdown the code is that of its end, by a stop too
tree auto_shutdown=any_significant
  n gives_exit
  t never significant
boot
expect S n, S t
exit t 1
reports
expect t n, x n, exit 143

story DECISIONS 52 with auto_shutdown one that was never started is 70
tree auto_shutdown=any_significant
  n disabled gives_exit
  t never significant
boot
expect S t
exit t 0
expect exit 70

story DECISIONS 52 one with a temporary end that nobody sees any more
tree auto_shutdown=any_significant
  n temporary significant gives_exit
  a
boot
expect S n, S a
exit n 9
reports
expect removed n, t a, x a, exit 9

story DECISIONS 52 escalated to the top its own code counts
tree
  a
  n never gives_exit on_failure=escalating
boot
expect S a, S n
exit n 3
reports
expect t a, x a, exit 3

story DECISIONS 52 a top that gives up because of another is 70
tree decider=exit:9->escalate,any->restart
  a
  n never gives_exit
answers n 0
boot
expect S a, S n
exit a 9
reports
expect t n, x n, exit 70

story DECISIONS 52 an actor that its group takes along for good has ended
tree
  s one_for_all
    n never gives_exit
    b
  a
boot
expect S n, S b, S a
exit b 1
reports
expect t n, x n, t a, x a, exit 143

story DECISIONS 52 a restart of its supervisor begins it anew
tree
  s one_for_one
    n never gives_exit
    b
boot
expect S n, S b
restart s
expect t b, x b, t n, x n, S n, S b
reply restart s done

story DECISIONS 52 below a supervisor that failed for good it has ended
tree decider=stopping
  s one_for_one decider=escalating
    n gives_exit
    b
  a
boot
expect S n, S b, S a
exit b 1
reports
expect t n, x n, t a, x a, exit 143

story DECISIONS 52 of replicas the last to end, and the first code that is not 0
tree
  n@1 never gives_exit
  n@2 never gives_exit
  n@3 never gives_exit
boot
expect S n@1, S n@2, S n@3
exit n@3 7
report failure n@3 exit:7 stop
expect nothing
exit n@1 0
expect nothing
exit n@2 5
report failure n@2 exit:5 stop
expect exit 5

story DECISIONS 52 nor is a stop by hand while its group waits to be restarted
tree one_for_all
  a
  n gives_exit backoff=1s/1s
boot
expect S a, S n
exit n 3
report failure n exit:3 restart
expect t a, x a
stop n
reply stop n done
expect nothing
after 1s
expect S a

story DECISIONS 52 nor one while its group goes down to be restarted
tree one_for_all
  a
  n gives_exit
slow n 1s
boot
expect S a, S n
exit a 3
report failure a exit:3 restart
expect t n
stop n
expect nothing
after 1s
expect x n, S a
reply stop n done

story DECISIONS 52 a stop by hand of what its group takes along changes nothing
tree rest_for_one decider=stopping
  a
  b
  n gives_exit
slow n 1s
boot
expect S a, S b, S n
exit b 3
reports
expect t n
stop n
after 1s
reply stop n done
expect x n, t a, x a, exit 143

story DECISIONS 52 a stop by hand is no end for good either after the group stopped the actor and a start
tree
  s one_for_all decider=stopping
    n gives_exit
    b
  m never gives_exit
boot
expect S n, S b, S m
exit b 1
reports
expect t n, x n
start n
expect S n
reply start n done
exit m 0
reports
expect nothing
stop n
expect t n, x n
reply stop n done
expect nothing

story DECISIONS 52 of several that its group takes along before it has begun
tree rest_for_one decider=stopping
  n@1 gives_exit ready=told
  n@2 gives_exit
boot
expect S n@1
exit n@1 3
reports
expect exit 3

story DECISIONS 52 so is one that runs once when the supervisor of it restarts its children
tree
  s one_for_one both keep_children=restart
    a
    n never gives_exit
  b
boot
expect S s, S a, S n, S b
exit s 1
reports
expect S s, t a, t n, x a, x n, t b, x b, t s, x s, exit 143

story DECISIONS 52 a top that fails because another could not start is 70
tree decider=escalating
  s one_for_one decider=escalating
    n gives_exit
    b
broken b ENOENT
boot
expect S n, S b, t n, x n
reports
expect exit 70

story DECISIONS 52 so is one that gives up because of another
tree intensity=0/60s
  s one_for_one decider=escalating
    n gives_exit
    b
  a
boot
expect S n, S b, S a
exit b 1
reports
expect t a, x a, t n, x n, exit 70

story DECISIONS 52 one that gives up because of the actor itself has its code
tree intensity=0/60s
  s one_for_one decider=escalating
    n gives_exit
    b
  a
boot
expect S n, S b, S a
exit n 5
reports
expect t a, x a, t b, x b, exit 5

story DECISIONS 52 without exit_code_from a significant actor that failed is 70
tree auto_shutdown=any_significant
  a
  t never significant
boot
expect S a, S t
exit t 1
reports
expect t a, x a, exit 70

story DECISIONS 52 so is one that failed before the last one ended
tree auto_shutdown=all_significant
  t temporary significant
  u never significant
boot
expect S t, S u
exit t 1
reports
expect removed t
exit u 0
expect exit 70

story DECISIONS 52 and one below a significant supervisor
tree auto_shutdown=any_significant
  q one_for_one transient significant auto_shutdown=any_significant
    c never significant
  d
boot
expect S c, S d
exit c 1
reports
expect t d, x d, exit 70

story DECISIONS 52 a supervisor that began anew has forgotten it
tree auto_shutdown=all_significant
  q one_for_one transient significant auto_shutdown=all_significant
    c never significant
    d never significant
boot
expect S c, S d
exit c 1
reports
restart q
expect t d, x d, S c, S d
reply restart q done
exit c 0
exit d 0
expect exit 0
