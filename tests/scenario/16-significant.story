# Supervisors that end with the work of their children.

story 114 the end of a child that is not significant ends nothing
tree
  s one_for_one auto_shutdown=any_significant
    a transient
    b significant transient
boot
expect S a, S b
exit a 0
expect nothing
view s running

story 115 O-41 a temporary that counts ends any way: the rest is stopped in reverse
tree
  s one_for_one transient auto_shutdown=any_significant
    a
    b
    x temporary significant
boot
expect S a, S b, S x
exit x 1
reports
expect removed x, t b, x b, t a, x a
view s done

story 115 the same after a normal end
tree
  s one_for_one transient auto_shutdown=any_significant
    a
    x temporary significant
boot
expect S a, S x
exit x 0
reports
expect removed x, t a, x a
view s done

story 116 O-42 stopped by hand, restarted after a failure: nothing; then its normal end
tree
  s one_for_one transient auto_shutdown=any_significant
    a
    t transient significant
boot
expect S a, S t
stop t
expect t t, x t
reply stop t done
view s running
start t
expect S t
reply start t done
signal t KILL
reports
expect S t
exit t 1
reports
expect S t
exit t 0
expect t a, x a
view s done

story 116 auto_shutdown all: not before the last significant child has ended
tree
  s one_for_one transient auto_shutdown=all_significant
    a
    t transient significant
    u transient significant
boot
expect S a, S t, S u
exit t 0
expect nothing
exit u 0
expect t a, x a
view s done

story O-43 all: a child stopped by hand has finished, a child in its backoff has not
tree
  s one_for_one transient auto_shutdown=all_significant
    t transient significant
    u transient significant backoff=1s/1s/1s/1000/0
    v transient significant
boot
expect S t, S u, S v
stop v
expect t v, x v
reply stop v done
exit u 1
reports
exit t 0
expect nothing
view s running
after 1s
expect S u
exit u 0
view s done

story 120 a chain: the end of the one is the end of the next
tree
  p one_for_one transient auto_shutdown=any_significant
    q one_for_one transient significant auto_shutdown=any_significant
      c transient significant
    d
boot
expect S c, S d
exit c 0
expect t d, x d
view q done
view p done

story 120 a child that is not significant ends alone
tree
  p one_for_one transient auto_shutdown=any_significant
    q one_for_one transient auto_shutdown=any_significant
      c transient significant
    d
boot
expect S c, S d
exit c 0
expect nothing
view q done
view p running

story 121 O-45 a permanent supervisor that is done is restarted at once, and that counts
tree
  p one_for_one intensity=1/60s
    q one_for_one auto_shutdown=any_significant
      c transient significant
boot
expect S c
exit c 0
expect S c
view p running window=1
exit c 0
reports
expect S c
view p running window=0

story C4 giving up is no natural end: a supervisor that counts has failed
tree
  p one_for_one auto_shutdown=any_significant
    q one_for_one transient significant intensity=0/60s
      c
    d
boot
expect S c, S d
exit c 1
reports
expect S c
view p running

story 1.4-C4 with preset otp a normal end is a failure
tree
  p one_for_one transient auto_shutdown=any_significant
    q one_for_one transient significant intensity=0/60s decider=otp
      c
    d
boot
expect S c, S d
exit c 1
reports
expect t d, x d
view p done

story DECISIONS 41 /user that is done is an ordered shutdown
tree auto_shutdown=any_significant
  a
  t transient significant
boot
expect S a, S t
exit t 0
expect t a, x a, exit 0

story O-42 a member of a group that ends in its stop has not ended by itself
tree
  s one_for_all auto_shutdown=any_significant
    a
    t transient significant
boot
expect S a, S t
answers t 0
exit a 1
reports
expect t t, x t, S a, S t
view s running

story C11 a group stop leaves an empty supervisor, unless when_empty has it otherwise
tree
  i one_for_all decider=stopping
    a
    b
  s one_for_all decider=stopping when_empty=stop
    c
    d
  e one_for_all decider=stopping when_empty=escalate
    f
    g
boot
expect S a, S b, S c, S d, S f, S g
exit a 1
reports
expect t b, x b
view i running
exit c 1
reports
expect t d, x d
view s failed cause=exit:1
exit f 1
expect t g, x g, S f, S g
report failure f exit:1 stop
report escalated e exit:1
report failure e exit:1 restart origin=f
view e running

story O-44 a significant child that fails until its supervisor gives up has not ended by itself
tree
  p one_for_one decider=stopping
    s one_for_one transient intensity=1/60s auto_shutdown=any_significant
      a
      t transient significant
boot
expect S a, S t
exit t 1
report failure t exit:1 restart
expect S t
exit t 1
expect t a, x a
report failure t exit:1 * reason=intensity
report gave_up s * origin=t limit=1
report failure s intensity stop
view s failed

story C11 a group stop that leaves a child leaves no empty supervisor
tree
  s rest_for_one decider=stopping when_empty=stop
    a
    b
    c
boot
expect S a, S b, S c
exit b 1
reports
expect t c, x c
view s running
view a running

story I22 when_empty: escalate, and a resume of what was stopped: it has its delay
tree on_failure=any->resume one_for_all decider=stopping when_empty=escalate
  a backoff=1s/1s/1s/1000/0
boot
expect S a
exit a 1
expect nothing
report failure a exit:1 stop
report escalated /user exit:1 origin=a
report failure /user exit:1 resume origin=a delay=1s
view a backoff
after 1s
expect S a
view a running
