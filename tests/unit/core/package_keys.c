/* Keys of packages, and packages that are older: what is journalled, what is refused. */
#include "unit/core/world.h"

static int put_keys(struct world *w, const char *const *names, size_t n, struct phx_outcome *out)
{
	struct phx_event ev = {.kind = PHX_EV_package_keys, .by = "uid:0"};
	for (size_t i = 0; i < n; i++) {
		struct phx_trusted_key *k = phx_list_push(&ev.package_keys.keys, sizeof(*k));
		PHX_STR_SET(k->name, names[i]);
		snprintf(k->id, sizeof(k->id), "sha256:%zu", strlen(names[i]));
	}
	int r = world_apply(w, &ev, out);
	phx_event_fini(&ev);
	return r;
}

static const char *said(const struct phx_outcome *out, uint32_t i)
{
	return i < out->actions.n ? PHX_LIST_AT(&out->actions, struct phx_action, i)->text : "";
}

static void a_change_of_keys_is_said(void **state)
{
	struct world *w = *state;
	const char *const first[] = {"site"}, *const both[] = {"builder", "site"};
	struct phx_outcome out = {0};
	assert_int_equal(put_keys(w, first, 1, &out), 0);
	assert_true(out.changed);
	assert_string_equal(said(&out, 0),
			    "packages signed by key site (sha256:4) are believed from now on");
	phx_outcome_fini(&out);
	assert_int_equal(put_keys(w, both, 2, &out), 0);
	assert_string_equal(said(&out, 0),
			    "packages signed by key builder (sha256:7) are believed from now on");
	assert_int_equal(out.actions.n, 1);
	phx_outcome_fini(&out);
	assert_int_equal(put_keys(w, both, 2, &out), 0);
	assert_false(out.changed);
	phx_outcome_fini(&out);
	assert_int_equal(put_keys(w, both, 1, &out), 0);
	assert_string_equal(said(&out, 0),
			    "packages signed by key site (sha256:4) are believed no more");
	assert_int_equal(w->s.package_keys.n, 1);
	phx_outcome_fini(&out);
}

/* Role web with that package and image; `allowed` may be older. */
static int put_role(struct world *w, const char *package, const char *image, const char *allowed,
		    bool not_older)
{
	struct phx_event ev = {.kind = PHX_EV_role_put, .role.not_older = not_older};
	struct phx_role *put = &ev.role.role_put;
	assert_int_equal(phx_record_copy(&phx_role_record, put, phx_state_role(&w->s, "web")), 0);
	PHX_STR_SET(PHX_LIST_AT(&put->packages, struct phx_package_ref, 0)->version, package);
	PHX_STR_SET(put->image_version, image);
	phx_list_fini(&put->allow_older);
	if (allowed) {
		struct phx_word *word = phx_list_push(&put->allow_older, sizeof(*word));
		PHX_STR_SET(word->text, allowed);
	}
	int r = world_apply(w, &ev, NULL);
	phx_event_fini(&ev);
	return r;
}

static const char *version(const struct world *w)
{
	const struct phx_role *r = phx_state_role(&w->s, "web");
	return PHX_LIST_AT(&r->packages, struct phx_package_ref, 0)->version;
}

static void an_older_package_is_refused_unless_it_is_named(void **state)
{
	struct world *w = *state;
	assert_int_equal(put_role(w, "1.10", "1", NULL, true), 0);
	assert_int_equal(put_role(w, "1.9", "1", NULL, true), -ESTALE);
	assert_string_equal(w->err.text,
			    "pkg-web 1.9 is older than 1.10, which the role had: to go back, its "
			    "file says allow_older = [ \"pkg-web-1.9\" ]");
	assert_string_equal(version(w), "1.10");
	assert_int_equal(put_role(w, "1.9", "1", "pkg-web-1.8", true), -ESTALE);
	assert_int_equal(put_role(w, "1.9", "1", "pkg-web-1.9", true), 0);
	assert_string_equal(version(w), "1.9");
	assert_int_equal(put_role(w, "1.10", "1", NULL, true), 0);
}

static void an_older_image_too(void **state)
{
	struct world *w = *state;
	assert_int_equal(put_role(w, "1", "12", NULL, true), 0);
	assert_int_equal(put_role(w, "1", "9", NULL, true), -ESTALE);
	assert_int_equal(put_role(w, "1", "9", "debian-12-9", true), 0);
}

/* Journals of before went back without a word, and replay as they were. */
static void events_of_before_go_back(void **state)
{
	struct world *w = *state;
	assert_int_equal(put_role(w, "2", "2", NULL, false), 0);
	assert_int_equal(put_role(w, "1", "1", NULL, false), 0);
	assert_string_equal(version(w), "1");
}

/* ---- the deploy image ---- */

static int starts_with(struct world *w, const char *version, bool may_be_older,
		       struct phx_outcome *out)
{
	struct phx_event ev = {.kind = PHX_EV_deploy_image,
			       .deploy_image = {.name = "deploy", .may_be_older = may_be_older}};
	PHX_STR_SET(ev.deploy_image.version, version);
	return world_apply(w, &ev, out);
}

static void a_later_deploy_image_is_told(void **state)
{
	struct world *w = *state;
	struct phx_outcome out = {0};
	assert_int_equal(starts_with(w, "9", false, &out), 0);
	assert_string_equal(said(&out, 0),
			    "machines are started with deploy image deploy 9 from now on");
	phx_outcome_fini(&out);
	assert_int_equal(starts_with(w, "10", false, &out), 0);
	assert_non_null(strstr(said(&out, 0), "deploy 10 from now on, and no more with 9"));
	phx_outcome_fini(&out);
	assert_int_equal(starts_with(w, "10", false, &out), 0);
	assert_int_equal(out.actions.n, 0);
	assert_false(out.changed);
	phx_outcome_fini(&out);
}

static void an_older_deploy_image_is_used_where_it_is_said(void **state)
{
	struct world *w = *state;
	struct phx_outcome out = {0};
	assert_int_equal(starts_with(w, "10", false, NULL), 0);
	assert_int_equal(starts_with(w, "9", false, NULL), -ESTALE);
	assert_non_null(strstr(w->err.text, "deploy 9 is older than 10"));
	assert_non_null(strstr(w->err.text, "deploy_allow_older = [ \"deploy-9\" ]"));
	assert_int_equal(phx_core_deploy_image(&w->s, "deploy", "9", "", false, &w->err), -ESTALE);
	assert_int_equal(phx_core_deploy_image(&w->s, "deploy", "10", "", false, &w->err), 0);
	assert_int_equal(phx_core_deploy_image(&w->s, "deploy", "11", "", false, &w->err), 1);
	assert_int_equal(phx_core_deploy_image(&w->s, "other", "1", "", false, &w->err), 1);
	/* another name in between does not make it new */
	struct phx_event ev = {.kind = PHX_EV_deploy_image,
			       .deploy_image = {.name = "other", .version = "1"}};
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(starts_with(w, "9", false, NULL), -ESTALE);
	assert_int_equal(starts_with(w, "9", true, &out), 0);
	assert_non_null(strstr(said(&out, 0), "no more with 10: an older one"));
	phx_outcome_fini(&out);
	/* and it is the one that is used: what was before is later again */
	assert_int_equal(starts_with(w, "9", false, NULL), 0);
	assert_int_equal(starts_with(w, "10", false, NULL), 0);
	assert_int_equal(starts_with(w, "9", false, NULL), -ESTALE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_change_of_keys_is_said),
		WORLD_TEST(an_older_package_is_refused_unless_it_is_named),
		WORLD_TEST(an_older_image_too),
		WORLD_TEST(events_of_before_go_back),
		WORLD_TEST(a_later_deploy_image_is_told),
		WORLD_TEST(an_older_deploy_image_is_used_where_it_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
