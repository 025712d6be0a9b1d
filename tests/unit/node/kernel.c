/* Which kernel a machine is started with: the deploy image's while its disks are erased, its
 * image's for its system, with the words of its role. */
#include "unit/core/world.h"

#include "node/kernel.h"

#define OWN "6.1.0-rt"

static struct phx_role *role(struct world *w, const char *name)
{
	PHX_LIST_EACH(struct phx_role, r, &w->s.roles)
		if (!strcmp(r->name, name))
			return r;
	fail_msg("no role %s", name);
	return NULL;
}

static const char *word_of(struct world *w)
{
	static char word[PHX_KERNEL_WORD_MAX];
	struct phx_kernel k;
	phx_kernel_of(&w->s, world_node(w, "n1"), &k);
	phx_kernel_word(k.release, k.args, word);
	return word;
}

/* Its agent comes up anew with what the head would give the machine now. */
static void comes(struct world *w)
{
	w->kernels = true;
	snprintf(w->kernel_word, sizeof(w->kernel_word), "%s", word_of(w));
}

static bool planned(struct world *w, int kind)
{
	PHX_LIST_EACH(struct phx_step, s, &world_node(w, "n1")->plan.steps)
		if (s->kind == kind)
			return true;
	return false;
}

static void with_kernel(struct phx_facts *f, int env)
{
	(void)env;
	PHX_STR_SET(f->kernel, "6.1.0-deploy");
}

/* A node that waits in the deploy environment; the image of role web has a kernel of its own. */
static void begin(struct world *w)
{
	w->kernels = true;
	w->more_facts = with_kernel;
	PHX_STR_SET(role(w, "web")->image_kernel, OWN);
	world_ready(w, "n1", true);
	assert_string_equal(word_of(w), "");
}

static void serve(struct world *w)
{
	begin(w);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	assert_true(planned(w, PHX_STEP_kernel));
	world_run_to(w, "n1", PHX_STEP_kernel);
	assert_string_equal(word_of(w), OWN);
	comes(w);
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
	assert_string_equal(world_node(w, "n1")->system_kernel, OWN);
}

static void test_words(void **state)
{
	(void)state;
	char a[PHX_KERNEL_WORD_MAX], b[PHX_KERNEL_WORD_MAX];
	phx_kernel_word("", "", a);
	assert_string_equal(a, "");
	phx_kernel_word(OWN, "", a);
	assert_string_equal(a, OWN);
	phx_kernel_word(OWN, "a=1", a);
	phx_kernel_word(OWN, "a=2", b);
	assert_string_not_equal(a, b);
}

/* The deploy image's kernel runs, the system's follows by one more start, with its own token. */
static void test_deploy_goes_on_into_the_systems_kernel(void **state)
{
	struct world *w = *state;
	begin(w);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	world_run_to(w, "n1", PHX_STEP_kernel);
	const struct phx_node *n = world_node(w, "n1");
	assert_int_equal(n->start, phx_node_step(n)->id);
	/* its line broke before it had the order: it registers from where it is, to get it */
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, false), 0);
	assert_int_equal(phx_node_step(n)->status, PHX_STEP_ISSUED);
	assert_int_equal(phx_node_step(n)->kind, PHX_STEP_kernel);
	/* a machine that started comes with another key */
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), -EACCES);
	comes(w);
	world_run_to(w, "n1", PHX_STEP_image);
	assert_true(phx_kernel_fits(&w->s, world_node(w, "n1")));
}

/* What is erased is erased under the deploy image's kernel, whatever runs before and after. */
static void test_erases_under_the_deploy_kernel(void **state)
{
	struct world *w = *state;
	serve(w);
	assert_int_equal(world_order(w, PHX_EV_wipe, "n1", NULL), 0);
	world_run_to(w, "n1", PHX_STEP_boot);
	assert_string_equal(word_of(w), "");
	/* a machine that comes with its system's kernel all the same is started once more first */
	w->kernels = true;
	PHX_STR_SET(w->kernel_word, OWN);
	world_run_to(w, "n1", PHX_STEP_kernel);
	assert_string_equal(word_of(w), "");
	comes(w);
	world_run_to(w, "n1", PHX_STEP_wipe);
	assert_string_equal(phx_text(world_node(w, "n1")->kernel_word), "");
}

static void test_system_comes_back_under_its_kernel(void **state)
{
	struct world *w = *state;
	serve(w);
	PHX_STR_SET(role(w, "web")->kernel_args, "quiet isolcpus=1");
	const char *with_args = word_of(w);
	assert_non_null(strstr(with_args, OWN ","));
	/* a newer image in the role changes nothing for what is on the disk */
	PHX_STR_SET(role(w, "web")->image_digest, "another");
	PHX_STR_SET(role(w, "web")->image_kernel, "7.0");
	assert_non_null(strstr(word_of(w), OWN ","));
	assert_int_equal(world_order(w, PHX_EV_reboot, "n1", NULL), 0);
	assert_false(planned(w, PHX_STEP_kernel));
	world_run_to(w, "n1", PHX_STEP_kexec);
	assert_non_null(strstr(word_of(w), OWN ","));
}

/* An older agent knows of no such kernels: it goes on under the one that it has, as before. */
static void test_older_agent(void **state)
{
	struct world *w = *state;
	begin(w);
	w->kernels = false;
	assert_int_equal(world_hello(w, "n1", PHX_ENV_DEPLOY, true), 0);
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	world_run_to(w, "n1", PHX_STEP_image);
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_DEPLOYING);
}

/* The deploy image's kernel is the image's: there is nothing to start. */
static void test_same_kernel(void **state)
{
	struct world *w = *state;
	begin(w);
	PHX_STR_SET(role(w, "web")->image_kernel, world_node(w, "n1")->facts.kernel);
	assert_string_not_equal(role(w, "web")->image_kernel, "");
	assert_int_equal(world_order(w, PHX_EV_assign, "n1", "web"), 0);
	assert_false(planned(w, PHX_STEP_kernel));
	world_run(w, "n1");
	assert_int_equal(world_node(w, "n1")->state, PHX_NODE_ACTIVE);
}

static void test_words_of_a_role(void **state)
{
	(void)state;
	struct phx_err err = {0};
	assert_int_equal(phx_kernel_args_check("quiet isolcpus=1-3 a.b=c", &err), 0);
	static const char *const bad[] = {"a phx.server=10.0.0.9:1",
					  "initrd=x",
					  " BOOTIF=01-00",
					  "a=`id`",
					  "a=$x",
					  "a\nb",
					  "a=\"b\""};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++)
		assert_int_equal(phx_kernel_args_check(bad[i], &err), -EINVAL);
	assert_non_null(strstr(err.text, "kernel_args: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		WORLD_TEST(test_deploy_goes_on_into_the_systems_kernel),
		WORLD_TEST(test_erases_under_the_deploy_kernel),
		WORLD_TEST(test_system_comes_back_under_its_kernel),
		WORLD_TEST(test_older_agent),
		WORLD_TEST(test_same_kernel),
		cmocka_unit_test(test_words_of_a_role),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
