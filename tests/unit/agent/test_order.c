/* Orders and their images over the wire; copying; the state files. */
#include "unit/agent/scratch.h"

#include "base/json.h"
#include "base/tree.h"
#include "agent/copy.h"
#include "agent/order.h"
#include "agent/state.h"
#include "repo/repo.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char good_image[] =
	"{\"kind\": \"step\", \"id\": 4, \"image\": {\"name\": \"debian-12\", \"version\": \"1\", "
	"\"kind\": \"rootfs\","
	"\"architecture\": \"amd64\", \"kernel_release\": \"6.1\", \"digest\": \"" DIGEST
	"\", \"files\": ["
	"{\"name\": \"root.ext4.zst\", \"size\": 5, \"sha256\": \"" DIGEST
	"\", \"raw_size\": 9}]}}";

static json_t *parse(const char *text)
{
	json_t *j = NULL;
	struct phx_err err = {0};
	if (phx_json_parse(text, strlen(text), &j, &err) < 0)
		fail_msg("%s", err.text);
	return j;
}

static void test_order(void **state)
{
	(void)state;
	struct phx_order o;
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *j = parse(good_image);
	assert_int_equal(order_parse(j, &o, &err), 0); /* what phxd adds is no part of the record */
	assert_int_equal(o.id, 4);
	phx_record_fini(&phx_order_record, &o);
	PHX_AUTO_JSON json_t *bad = parse("{\"kind\": \"step\", \"id\": \"four\"}");
	assert_int_equal(order_parse(bad, &o, &err), -EINVAL);
	assert_non_null(strstr(err.text, "id"));
	PHX_AUTO_JSON json_t *list = parse("[1]");
	assert_int_equal(order_parse(list, &o, NULL), -EINVAL);
}

/* Heads and agents of other ages use these names. */
static void kinds_travel_by_their_names(void **state)
{
	(void)state;
	static const char *const kinds[] = {"step",     "job",    "kill",  "inspect",  "table",
					    "prefetch", "ahead",  "tasks", "accounts", "logs",
					    "output",   "anchor", "ca",    "site"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++) {
		struct phx_order o;
		char want[40];
		PHX_AUTO_JSON json_t *j = json_pack("{s:s,s:i}", "kind", kinds[i], "id", 4);
		assert_int_equal(order_parse(j, &o, NULL), 0);
		PHX_AUTO_FREE char *text = phx_json_record_text_sparse(&phx_order_record, &o);
		snprintf(want, sizeof(want), "{\"kind\":\"%s\",\"id\":4", kinds[i]);
		assert_memory_equal(text, want, strlen(want));
		PHX_AUTO_JSON json_t *list = json_array();
		order_report(list, (enum phx_order_kind)o.kind, o.id);
		PHX_AUTO_FREE char *told = json_dumps(list, JSON_COMPACT);
		snprintf(want, sizeof(want), "[[\"%s\",4]]", kinds[i]);
		assert_string_equal(told, want);
		phx_record_fini(&phx_order_record, &o);
	}
	assert_int_equal(PHX_ARRAY_SIZE(kinds), PHX_ORDER_KIND_COUNT_ - 1);
}

/* What it brings is not looked at. */
static void an_order_of_unknown_kind_is_not_taken(void **state)
{
	(void)state;
	struct phx_order o;
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *j = parse("{\"kind\": \"dance\", \"id\": 4, \"tune\": 7}");
	assert_int_equal(order_parse(j, &o, &err), -EOPNOTSUPP);
	assert_string_equal(err.text, "order dance 4: order of unknown kind \"dance\"");
	phx_err_clear(&err);
	PHX_AUTO_JSON json_t *none = parse("{\"id\": 5}");
	assert_int_equal(order_parse(none, &o, &err), -EOPNOTSUPP);
	assert_string_equal(err.text, "order  5: order of unknown kind \"\"");
}

static void test_tasks(void **state)
{
	(void)state;
	struct phx_order o;
	struct phx_task_order tasks;
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *j =
		parse("{\"kind\": \"tasks\", \"id\": 4, \"tasks\": {\"re\": \"mtc\", \"uid\": 7, "
		      "\"gid\": 7, \"tasks\": [{\"run\": 1, \"argv\": [{\"text\": \"true\"}]}]}}");
	assert_int_equal(order_parse(j, &o, &err), 0);
	phx_record_fini(&phx_order_record, &o);
	assert_int_equal(order_tasks(j, &tasks, &err), 0);
	assert_int_equal(tasks.tasks.n, 1);
	phx_record_fini(&phx_task_order_record, &tasks);
	json_object_set_new(json_object_get(j, "tasks"), "uid", json_integer(0));
	assert_int_equal(order_tasks(j, &tasks, &err), -EPERM);
	assert_int_equal(tasks.tasks.n, 0);
	phx_err_clear(&err);
	json_object_set_new(json_object_get(j, "tasks"), "uid", json_string("root"));
	assert_int_equal(order_tasks(j, &tasks, &err), -EINVAL);
	assert_non_null(strstr(err.text, "uid"));
	json_object_del(j, "tasks");
	assert_int_equal(order_tasks(j, &tasks, NULL), -EINVAL);
}

static void test_image(void **state)
{
	(void)state;
	struct phx_image image;
	PHX_AUTO_JSON json_t *j = parse(good_image);
	assert_int_equal(order_image(j, "image", &image, NULL), 0);
	assert_string_equal(image.name, "debian-12");
	const struct phx_image_file *f = phx_image_file(&image, "root.ext4.zst");
	assert_non_null(f);
	assert_int_equal(f->raw_size, 9);
	phx_record_fini(&phx_image_record, &image);
	assert_int_equal(order_image(j, "deploy", &image, NULL), -ENOENT);
}

/* Whether a signature is wanted is the node's own, and so are the keys: the order may say what it
 * likes. */
static void test_image_believed(void **state)
{
	(void)state;
	char dir[] = "/tmp/phx-test-order-XXXXXX", key[64], hex[PHX_SIG_HEX];
	PHX_AUTO_FREE char *pub = NULL, *other = NULL;
	struct agent_config cfg = {0};
	struct phx_image image;
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *j = parse(good_image);
	assert_non_null(mkdtemp(dir));
	snprintf(key, sizeof(key), "%s/a.key", dir);
	assert_int_equal(phx_sign_key_new(key, &pub, NULL), 0);
	PHX_STR_SET(cfg.package_keys, pub);
	snprintf(cfg.images_signed, sizeof(cfg.images_signed), "%s/signed", dir);
	assert_int_equal(order_image_believed(&cfg, j, "image", &image, NULL), 0);
	assert_int_equal(phx_image_sign(&image, key, hex, NULL), 0);
	phx_record_fini(&phx_image_record, &image);
	assert_int_equal(phx_file_write(cfg.images_signed, "", 0, 0644, NULL), 0);
	assert_int_equal(order_image_believed(&cfg, j, "image", &image, &err), -EKEYREJECTED);
	assert_non_null(strstr(err.text, "is not signed, and this node wants that"));
	json_t *its = json_object_get(j, "image");
	json_object_set_new(its, "signature", json_string(hex));
	assert_int_equal(order_image_believed(&cfg, j, "image", &image, NULL), 0);
	phx_record_fini(&phx_image_record, &image);
	/* one file is another one */
	json_t *file = json_array_get(json_object_get(its, "files"), 0);
	json_object_set_new(file, "size", json_integer(6));
	assert_int_equal(order_image_believed(&cfg, j, "image", &image, NULL), -EKEYREJECTED);
	json_object_set_new(file, "size", json_integer(5));
	/* signed again, by whom the node does not know */
	snprintf(key, sizeof(key), "%s/b.key", dir);
	assert_int_equal(phx_sign_key_new(key, &other, NULL), 0);
	assert_int_equal(order_image(j, "image", &image, NULL), 0);
	assert_int_equal(phx_image_sign(&image, key, hex, NULL), 0);
	phx_record_fini(&phx_image_record, &image);
	json_object_set_new(its, "signature", json_string(hex));
	assert_int_equal(order_image_believed(&cfg, j, "image", &image, NULL), -EKEYREJECTED);
	phx_dir_remove(dir, NULL);
}

static void test_why_there_is_no_image(void **state)
{
	(void)state;
	struct phx_image image;
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *j =
		parse("{\"image\": null, \"image_error\": \"root.ext4.zst: cut short\"}");
	assert_int_equal(order_image(j, "image", &image, &err), -ENOENT);
	assert_non_null(strstr(err.text, "root.ext4.zst: cut short"));
}

static void check_bad_image(const char *image_json)
{
	struct phx_image image;
	struct phx_err err = {0};
	char text[1024];
	snprintf(text, sizeof(text), "{\"image\": %s}", image_json);
	PHX_AUTO_JSON json_t *j = parse(text);
	if (order_image(j, "image", &image, &err) >= 0)
		fail_msg("accepted: %s", image_json);
	assert_true(err.text[0]);
}

static void test_bad_images(void **state)
{
	(void)state;
	check_bad_image("null");
	check_bad_image("{\"name\": \"../x\", \"version\": \"1\"}");
	check_bad_image("{\"name\": \"x\", \"version\": \"a/b\"}");
	check_bad_image("{\"name\": \"x\", \"version\": \"1\", \"files\": [{\"name\": \"../f\", "
			"\"size\": 1, \"sha256\": "
			"\"" DIGEST "\"}]}");
	check_bad_image("{\"name\": \"x\", \"version\": \"1\", \"files\": [{\"name\": \"f\", "
			"\"size\": 0, \"sha256\": "
			"\"" DIGEST "\"}]}");
	check_bad_image("{\"name\": \"x\", \"version\": \"1\", \"files\": [{\"name\": \"f\", "
			"\"size\": 1, \"sha256\": "
			"\"12\"}]}");
	check_bad_image("{\"name\": \"x\", \"version\": \"1\", \"files\": 7}");
}

static void test_copy_tree(void **state)
{
	const struct scratch *s = *state;
	struct stat st;
	char target[64] = "";
	assert_int_equal(phx_dir_make(scratch_path(s, "from/bin"), 0755, NULL), 0);
	assert_int_equal(phx_dir_make(scratch_path(s, "to/old"), 0755, NULL), 0);
	write_text(scratch_path(s, "from/bin/prog"), "program", 0755);
	assert_int_equal(symlink("bin/prog", scratch_path(s, "from/link")), 0);
	assert_int_equal(copy_tree(scratch_path(s, "from"), scratch_path(s, "to"), NULL), 0);
	PHX_AUTO_FREE char *text = read_text(scratch_path(s, "to/bin/prog"));
	assert_string_equal(text, "program");
	assert_int_equal(stat(scratch_path(s, "to/bin/prog"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	assert_true(readlink(scratch_path(s, "to/link"), target, sizeof(target) - 1) > 0);
	assert_string_equal(target, "bin/prog");
	assert_false(exists(scratch_path(s, "to/old"))); /* as a whole */
	assert_false(exists(scratch_path(s, "to.tmp")));
}

static void test_copy_tree_that_fails(void **state)
{
	const struct scratch *s = *state;
	struct phx_err err = {0};
	assert_int_equal(phx_dir_make(scratch_path(s, "from"), 0755, NULL), 0);
	assert_int_equal(phx_dir_make(scratch_path(s, "to/old"), 0755, NULL), 0);
	assert_int_equal(mkfifo(scratch_path(s, "from/pipe"), 0600), 0);
	assert_int_equal(copy_tree(scratch_path(s, "from"), scratch_path(s, "to"), &err), -EINVAL);
	assert_non_null(strstr(err.text, "pipe"));
	assert_true(exists(scratch_path(s, "to/old"))); /* what was there is there */
	assert_false(exists(scratch_path(s, "to.tmp")));
}

static void fill_role(struct role_state *r)
{
	*r = (struct role_state){.run = true};
	PHX_STR_SET(r->role.name, "web");
	PHX_STR_SET(r->role.image, "debian-12");
	PHX_STR_SET(r->role.image_version, "1");
	struct phx_package_ref *p = phx_list_push(&r->role.packages, sizeof(*p));
	PHX_STR_SET(p->name, "nginx");
	PHX_STR_SET(p->version, "2");
}

static void test_role_state(void **state)
{
	const struct scratch *s = *state;
	struct role_state r, found;
	assert_int_equal(role_state_read(s->dir, &found, NULL), -ENOENT);
	assert_int_equal(role_state_set_run(s->dir, false, NULL), -ENOENT);
	fill_role(&r);
	assert_int_equal(role_state_write(s->dir, &r, NULL), 0);
	assert_int_equal(role_state_set_run(s->dir, false, NULL), 0);
	assert_int_equal(role_state_read(s->dir, &found, NULL), 0);
	r.run = false;
	assert_true(phx_record_equal(&role_state_record, &r, &found));
	phx_record_fini(&role_state_record, &found);
	phx_record_fini(&role_state_record, &r);
	assert_int_equal(role_state_remove(s->dir, NULL), 0);
	assert_int_equal(role_state_remove(s->dir, NULL), 0);
	write_text(scratch_path(s, "role.json"), "{", 0600);
	struct phx_err err = {0};
	assert_int_equal(role_state_read(s->dir, &found, &err), -EINVAL);
	assert_non_null(strstr(err.text, "role.json"));
}

/* What is told is what is there, not what was ordered. */
static void test_identity(void **state)
{
	const struct scratch *s = *state;
	struct role_state r;
	struct system_state sys = {"debian-12", "7", DIGEST};
	char identity[200];
	fill_role(&r);
	state_identity(s->dir, s->dir, NULL, identity, sizeof(identity));
	assert_string_equal(identity, "");
	state_identity(s->dir, s->dir, &r.role, identity, sizeof(identity));
	assert_string_equal(identity, "debian-12@1 nginx-none");
	assert_int_equal(phx_dir_make(scratch_path(s, "nginx/1"), 0755, NULL), 0);
	assert_int_equal(phx_package_activate(s->dir, "nginx", "1", NULL), 0);
	assert_int_equal(system_state_write(s->dir, &sys, NULL), 0);
	state_identity(s->dir, s->dir, &r.role, identity, sizeof(identity));
	assert_string_equal(identity, "debian-12@7 nginx-1");
	phx_record_fini(&role_state_record, &r);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_order),
		TEST(kinds_travel_by_their_names),
		TEST(an_order_of_unknown_kind_is_not_taken),
		TEST(test_tasks),
		TEST(test_image),
		TEST(test_image_believed),
		TEST(test_bad_images),
		TEST(test_why_there_is_no_image),
		TEST(test_copy_tree),
		TEST(test_copy_tree_that_fails),
		TEST(test_role_state),
		TEST(test_identity),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
