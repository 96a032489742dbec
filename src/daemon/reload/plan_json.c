/* SPDX-License-Identifier: ISC */
/* plan_json.c - the plan of a reload, as the reply that Diff and Apply give. */
#include "config.h"

#include "daemon/reload/plan_json.h"

#include "daemon/reload/reload.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"

/* In longer replies values are left out, so that the plan of a large tree has room. */
#define VALUES_BYTES_MAX ((size_t)2 * 1024 * 1024)

static const char *
path_of_change(const struct reloader *reloader, const struct reload *reload,
               const struct conf_change *change)
{
	if (change->new_index != CONF_NONE)
		return reload->conf->actors[change->new_index].path;
	return reloader->actors->conf->actors[change->old_index].path;
}

/* The value of a key, as JSON text that is a string of JSON, or null. */
static void
add_value(struct strbuf *out, const struct conf *conf, uint32_t index, const char *name)
{
	const struct conf_key *key =
	    conf_keys_effective(conf, &conf->actors[index], name);

	if (key != NULL)
		strbuf_add_json(out, key->value);
	else
		strbuf_adds(out, "null");
}

/* The keys of an actor that is in both configurations, with the values in both. */
static void
add_values(struct strbuf *out, const struct reloader *reloader,
           const struct reload *reload, const struct conf_change *change)
{
	strbuf_adds(out, ",\"values\":");
	if (change->n_keys > 0 &&
	    (change->old_index == CONF_NONE || change->new_index == CONF_NONE ||
	     out->len > VALUES_BYTES_MAX)) {
		strbuf_adds(out, "null");
		return;
	}
	strbuf_addc(out, '[');
	for (size_t k = 0; k < change->n_keys; k++) {
		strbuf_adds(out, k > 0 ? ",{\"key\":" : "{\"key\":");
		strbuf_add_json(out, change->keys[k]);
		strbuf_adds(out, ",\"old\":");
		add_value(out, reloader->actors->conf, change->old_index,
		          change->keys[k]);
		strbuf_adds(out, ",\"new\":");
		add_value(out, reload->conf, change->new_index, change->keys[k]);
		strbuf_addc(out, '}');
	}
	strbuf_addc(out, ']');
}

/* True if an actor below a supervisor that is down waits for it. */
static bool
is_below_down(const struct reloader *reloader, struct ref ref)
{
	for (ref = core_parent(reloader->engine->core, ref);
	     ref.slot != REF_NONE.slot && ref.slot != CORE_ROOT;
	     ref = core_parent(reloader->engine->core, ref)) {
		const struct node_view view = engine_view(reloader->engine, ref);
		if (view.state == STATE_STOPPED || view.state == STATE_FAILED ||
		    view.state == STATE_DONE)
			return true;
	}
	return false;
}

/* The effect of a reload on an actor with changed keys that count from a start of its
 * process on. */
static const char *
effect_of_restart(const struct reloader *reloader, const struct reload *reload,
                  const struct conf_change *change)
{
	const struct conf_actor *actor = &reload->conf->actors[change->new_index];
	const struct ref ref = actors_find_static(reloader->actors, actor->path);

	if (ref.slot == REF_NONE.slot || !core_valid(reloader->engine->core, ref))
		return "later";
	const struct node_view view = engine_view(reloader->engine, ref);
	if (view.held || view.on_standby || !actor->spec->core.enabled ||
	    !reload_reruns(reloader, reload, change, ref) || is_below_down(reloader, ref))
		return "later";
	return view.state == STATE_STOPPED || view.state == STATE_FAILED ||
	               view.state == STATE_DONE
	           ? "start"
	           : "restart";
}

static const char *
effect_of(const struct reloader *reloader, const struct reload *reload,
          const struct conf_change *change)
{
	static const char *const plain[CHANGE_MAX] = {
	    [CHANGE_UPDATED] = "update",
	    [CHANGE_ADDED] = "start",
	    [CHANGE_REMOVED] = "remove",
	};

	if (change->kind == CHANGE_RESTARTED)
		return effect_of_restart(reloader, reload, change);
	if (change->kind == CHANGE_ADDED &&
	    !reload->conf->actors[change->new_index].spec->core.enabled)
		return "later";
	return plain[change->kind];
}

/* Append the plan as the reply of Diff and Apply, before it is carried out. */
void
plan_json(struct strbuf *out, const struct reloader *reloader,
          const struct reload *reload)
{
	strbuf_adds(out, "{\"plan\":[");
	for (size_t i = 0; i < reload->plan.n; i++) {
		const struct conf_change *change = &reload->plan.at[i];

		strbuf_adds(out, i > 0 ? ",{\"path\":" : "{\"path\":");
		strbuf_add_json(out, path_of_change(reloader, reload, change));
		if (change->kind == CHANGE_UNCHANGED) {
			/* Of thousands most are. */
			strbuf_adds(out, ",\"change\":\"unchanged\",\"effect\":\"none\","
			                 "\"keys\":[],\"values\":[]}");
			continue;
		}
		strbuf_addf(out, ",\"change\":\"%s\",\"effect\":\"%s\",\"keys\":[",
		            change_names[change->kind],
		            effect_of(reloader, reload, change));
		for (size_t k = 0; k < change->n_keys; k++) {
			if (k > 0)
				strbuf_addc(out, ',');
			strbuf_add_json(out, change->keys[k]);
		}
		strbuf_addc(out, ']');
		add_values(out, reloader, reload, change);
		strbuf_addc(out, '}');
	}
	strbuf_adds(out, "]}");
}
