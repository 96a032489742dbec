#!/usr/bin/env escript
%% SPDX-License-Identifier: ISC
%% -*- erlang -*-
%%! +S 1:1 -noinput
%% oracle.escript - a tree of real OTP supervisors that does as it is told.
%%
%% One command a line on stdin, as in README; for each one line on stdout:
%% RESULT | TRACE | STATES.  Answers come when nothing moves any more.
-mode(compile).
-export([main/1, init/1, start_worker/1, start_inner/1]).

-define(ROUNDS, 3). %% so many times everything has to look the same

main(_) ->
    logger:set_primary_config(level, none),
    process_flag(trap_exit, true),
    ets:new(specs, [named_table, public, ordered_set]), %% {Name, Spec}
    ets:new(broken, [named_table, public, set]),        %% {Name, Starts that fail}
    ets:new(pids, [named_table, public, set]),          %% {Name, Pid} of the newest
    ets:new(parents, [named_table, public, set]),       %% {Name, Parent}
    Trace = spawn_link(fun() -> trace([]) end),
    register(trace, Trace),
    loop().

loop() ->
    case io:get_line("") of
        eof -> ok;
        {error, _} -> ok;
        Line ->
            Result = command(string:lexemes(string:trim(Line), " ")),
            settle(),
            io:format("~s | ~s | ~s~n", [Result, lists:join(" ", take_trace()),
                                         lists:join(" ", states())]),
            loop()
    end.

%% ---- the trace: who started, failed to start, was stopped, in order -----------------

trace(Lines) ->
    receive
        {say, From, Line} -> From ! said, trace([Line | Lines]);
        {take, From} -> From ! {trace, lists:reverse(Lines)}, trace([]);
        {peek, From} -> From ! {trace, Lines}, trace(Lines)
    end.

say(What, Name) ->
    trace ! {say, self(), What ++ " " ++ Name},
    receive said -> ok end.

take_trace() ->
    trace ! {take, self()},
    receive {trace, Lines} -> Lines end.

peek_trace() ->
    trace ! {peek, self()},
    receive {trace, Lines} -> Lines end.

%% ---- the actors -----------------------------------------------------------------------

start_worker(Name) ->
    case ets:lookup(broken, Name) of
        [{_, N}] when N > 0 ->
            ets:insert(broken, {Name, N - 1}),
            say("F", Name),
            {error, broken};
        _ ->
            Pid = spawn_link(fun() -> process_flag(trap_exit, true), worker(Name) end),
            ets:insert(pids, {Name, Pid}),
            say("S", Name),
            {ok, Pid}
    end.

worker(Name) ->
    receive
        {'EXIT', _, Reason} -> say("X", Name), exit(Reason);
        {die, Reason} -> exit(Reason)
    end.

start_inner(Name) ->
    case supervisor:start_link(?MODULE, Name) of
        {ok, Pid} -> ets:insert(pids, {Name, Pid}), {ok, Pid};
        Other -> Other
    end.

%% Of a supervisor: its flags, and its children as the tree was described.
init(Name) ->
    [{_, {_, supervisor, _, Flags}}] = ets:lookup(specs, Name),
    Children = [child(Id, Spec) || Id <- order(), Spec <- [spec(Id)],
                                   element(1, Spec) =:= Name],
    {ok, {Flags, Children}}.

order() ->
    case ets:lookup(specs, order) of
        [{order, Names}] -> Names;
        [] -> []
    end.

spec(Name) ->
    [{_, Spec}] = ets:lookup(specs, Name),
    Spec.

parent(Name) ->
    case ets:lookup(parents, Name) of
        [{_, Parent}] -> Parent;
        [] -> nobody
    end.

child(Id, {_, worker, Restart, More}) ->
    maps:merge(#{id => Id, start => {?MODULE, start_worker, [Id]}, restart => Restart,
                 shutdown => 5000, type => worker}, More);
child(Id, {_, supervisor, Restart, Flags}) ->
    #{id => Id, start => {?MODULE, start_inner, [Id]}, restart => Restart,
      shutdown => infinity, type => supervisor,
      significant => maps:get(significant, Flags, false)}.

%% ---- commands ---------------------------------------------------------------------------

describe(Name, Spec) ->
    ets:insert(specs, {order, order() ++ [Name]}),
    ets:insert(specs, {Name, Spec}),
    ets:insert(parents, {Name, element(1, Spec)}),
    "ok".

significant(More) -> lists:member("significant", More).

command(["tree", Strategy, I, P | More]) ->
    [exit_top() || top() =/= undefined],
    [ets:delete_all_objects(Table) || Table <- [specs, broken, pids, parents]],
    take_trace(),
    describe("top", {none, supervisor, permanent, flags(Strategy, I, P, More)});
command(["sup", Parent, Name, Restart, Strategy, I, P | More]) ->
    describe(Name, {Parent, supervisor, list_to_atom(Restart),
                    flags(Strategy, I, P, More)});
command(["worker", Parent, Name, Restart | More]) ->
    describe(Name, {Parent, worker, list_to_atom(Restart),
                    #{significant => significant(More)}});
command(["boot"]) ->
    case start_inner("top") of
        {ok, _} -> "ok";
        {error, _} -> "error"
    end;
command(["shutdown"]) ->
    exit_top(),
    "ok";
command(["broken", Name, N]) ->
    ets:insert(broken, {Name, list_to_integer(N)}),
    "ok";
command(["exit" | Deaths]) ->
    die(pairs(Deaths)),
    "ok";
command(["age", Seconds]) ->
    [age(pid(Name), list_to_integer(Seconds)) || Name <- supervisors()],
    "ok";
command(["stop", Parent, Name]) ->
    ask(Parent, fun(Pid) -> supervisor:terminate_child(Pid, Name) end);
command(["start", Parent, Name]) ->
    ask(Parent, fun(Pid) -> supervisor:restart_child(Pid, Name) end);
command(["delete", Parent, Name]) ->
    ask(Parent, fun(Pid) -> supervisor:delete_child(Pid, Name) end);
command(["add", Parent, Name, Restart | More]) ->
    Spec = child(Name, {Parent, worker, list_to_atom(Restart),
                        #{significant => significant(More)}}),
    ets:insert(parents, {Name, Parent}),
    ask(Parent, fun(Pid) -> supervisor:start_child(Pid, Spec) end).

flags(Strategy, I, P, More) ->
    Auto = [list_to_atom(Word) || "auto=" ++ Word <- More],
    maps:merge(#{strategy => list_to_atom(Strategy), intensity => list_to_integer(I),
                 period => list_to_integer(P), significant => significant(More)},
               case Auto of [] -> #{}; [How] -> #{auto_shutdown => How} end).

ask(Parent, Fun) ->
    case pid(Parent) of
        undefined -> "nobody";
        Pid ->
            try Fun(Pid) of
                ok -> "ok";
                {ok, _} -> "ok";
                {error, {already_started, _}} -> "already_started";
                {error, Word} when Word =:= running; Word =:= restarting;
                                   Word =:= not_found; Word =:= already_present ->
                    atom_to_list(Word);
                {error, _} -> "error"
            catch exit:_ -> "nobody"
            end
    end.

pairs([Name, Reason | More]) -> [{Name, list_to_atom(Reason)} | pairs(More)];
pairs([]) -> [].

%% All of them, before their supervisors look: their ends are found in this order.
die(Deaths) ->
    Parents = lists:usort([pid(parent(Name)) || {Name, _} <- Deaths]),
    [ok = sys:suspend(Parent) || Parent <- Parents, Parent =/= undefined],
    [die(pid(Name), Reason, pid(parent(Name))) || {Name, Reason} <- Deaths],
    [ok = sys:resume(Parent) || Parent <- Parents, Parent =/= undefined].

die(undefined, _, _) -> ok;
die(Pid, Reason, Parent) ->
    Monitor = monitor(process, Pid),
    Pid ! {die, Reason},
    receive {'DOWN', Monitor, process, Pid, _} -> arrive(Pid, Parent) end.

%% We may be told of an end before the supervisor: wait until it has no link to the process
%% any more, as its message is there then.
arrive(_, undefined) -> ok;
arrive(Pid, Parent) ->
    {links, Links} = process_info(Parent, links),
    case lists:member(Pid, Links) of
        true -> erlang:yield(), arrive(Pid, Parent);
        false -> ok
    end.

%% Every restart that a supervisor remembers was longer ago.
age(undefined, _) -> ok;
age(Pid, Seconds) ->
    sys:replace_state(Pid, fun(State) ->
        Restarts = element(8, State),
        true = element(1, State) =:= state andalso is_list(Restarts),
        setelement(8, State, [Stamp - Seconds || Stamp <- Restarts])
    end).

%% ---- looking ----------------------------------------------------------------------------

top() -> pid("top").

pid(Name) ->
    case ets:lookup(pids, Name) of
        [{_, Pid}] -> case is_process_alive(Pid) of true -> Pid; false -> undefined end;
        [] -> undefined
    end.

supervisors() ->
    [Name || {Name, {_, supervisor, _, _}} <- ets:tab2list(specs)].

exit_top() ->
    case top() of
        undefined -> ok;
        Pid ->
            Monitor = monitor(process, Pid),
            exit(Pid, shutdown),
            receive {'DOWN', Monitor, process, Pid, _} -> ok end
    end.

%% Depth first, in start order: "NAME state"; nothing if there is no tree.
states() ->
    case top() of
        undefined -> ["gone"];
        Pid -> states_below(Pid)
    end.

states_below(Pid) ->
    try supervisor:which_children(Pid) of
        Children -> lists:flatmap(fun state/1, lists:reverse(Children))
    catch exit:_ -> ["moving"]
    end.

state({Name, undefined, _, _}) -> [Name ++ " down"];
state({Name, restarting, _, _}) -> [Name ++ " restarting"];
state({Name, Pid, worker, _}) ->
    [Name ++ case is_process_alive(Pid) of true -> " up"; false -> " moving" end];
state({Name, Pid, supervisor, _}) -> [Name ++ " up" | states_below(Pid)].

settle() -> settle(none, 0).

settle(_, ?ROUNDS) -> ok;
settle(Before, Rounds) ->
    erlang:yield(),
    States = states(),
    Moves = [State || State <- States, lists:suffix("ing", State)],
    Now = {States, length(peek_trace()), ets:tab2list(pids)},
    case Moves of
        [] when Now =:= Before -> settle(Now, Rounds + 1);
        _ -> settle(Now, 0)
    end.
