/* Containers as JSON, and tars before they are unpacked: what is taken, and what others may have
 * written into them. */
#include "unit/deploy/help.h"

#include "base/spawn.h"
#include "deploy/layer.h"
#include "deploy/oci.h"

#define D "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define REF(tag) \
	"{\"digest\":\"" D "\",\"annotations\":{\"org.opencontainers.image.ref.name\":\"" tag "\"" \
	"}}"

static void choose(const struct phx_list *refs, const char *tag, const char *wanted)
{
	const struct phx_oci_ref *ref;
	struct phx_err err = {0};
	int r = phx_oci_choose(refs, tag, &ref, &err);
	if (strchr(wanted, ' ')) {
		assert_int_equal(r, -EINVAL);
		assert_contains(err.text, wanted);
	} else {
		assert_string_equal(err.text, "");
		assert_string_equal(ref->tag, wanted);
	}
}

static void test_which_container(void **state)
{
	(void)state;
	static const char two[] = "{\"manifests\":[" REF("a") "," REF("b") "]}";
	static const char one[] = "{\"manifests\":[" REF("a") "]}";
	static const char twice[] = "{\"manifests\":[" REF("a") "," REF("a") "]}";
	static const char none[] = "{\"manifests\":[]}";
	static const char docker[] = "[{\"RepoTags\":[\"docker.io/library/x:latest\",\"y:1\"]},"
				     "{\"RepoTags\":null}]";
	struct phx_list refs;
	assert_int_equal(phx_oci_index_parse(two, strlen(two), &refs, NULL), 0);
	choose(&refs, "", "choose one by its tag; there is: a, b");
	choose(&refs, "b", "b");
	choose(&refs, "c", "no container with the tag 'c'; there is: a, b");
	phx_list_fini(&refs);
	assert_int_equal(phx_oci_index_parse(one, strlen(one), &refs, NULL), 0);
	choose(&refs, "", "a");
	phx_list_fini(&refs);
	assert_int_equal(phx_oci_index_parse(twice, strlen(twice), &refs, NULL), 0);
	choose(&refs, "a", "several containers have the tag 'a'");
	phx_list_fini(&refs);
	assert_int_equal(phx_oci_index_parse(none, strlen(none), &refs, NULL), 0);
	choose(&refs, "", "it holds no container; there is: nothing");
	phx_list_fini(&refs);
	assert_int_equal(phx_oci_docker_parse(docker, strlen(docker), &refs, NULL), 0);
	choose(&refs, "x", "docker.io/library/x:latest");
	choose(&refs, "y:1", "y:1");
	choose(&refs, "",
	       "choose one by its tag; there is: docker.io/library/x:latest, y:1, (no tag)");
	phx_list_fini(&refs);
}

static void test_an_index_that_is_none(void **state)
{
	(void)state;
	static const struct {
		const char *text, *says;
	} bads[] = {
		{"", ""},
		{"[]", "it has no list \"manifests\""},
		{"{\"manifests\":[{}]}", "a manifest: digest ''"},
		{"{\"manifests\":[{\"digest\":\"sha256:../../x\"}]}", "digest 'sha256:../../x'"},
		{"{\"manifests\":[{\"digest\":\"sha512:aa\"}]}", "it must be sha256: and 64"},
		{"[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]", "nested"},
	};
	struct phx_list refs = {0};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bads); i++) {
		struct phx_err err = {0};
		assert_int_equal(
			phx_oci_index_parse(bads[i].text, strlen(bads[i].text), &refs, &err),
			-EINVAL);
		assert_contains(err.text, bads[i].says);
		assert_null(refs.items);
	}
	struct phx_err err = {0};
	assert_int_equal(phx_oci_docker_parse("{}", 2, &refs, &err), -EINVAL);
	assert_string_equal(err.text, "it is no list");
	phx_err_clear(&err);
	static const char number[] = "[{\"RepoTags\":[7]}]";
	assert_int_equal(phx_oci_docker_parse(number, strlen(number), &refs, &err), -EINVAL);
	assert_string_equal(err.text, "RepoTags: a tag is no text");
}

#define LABEL(name, value) "\"org.opencontainers.image." name "\":\"" value "\""

static void test_annotations_overrule_labels(void **state)
{
	(void)state;
	static const char manifest[] =
		"{\"config\":{\"digest\":\"" D "\"},\"layers\":[{\"digest\":\"" D
		"\",\"size\":7,\"mediaType\":\"m\"}],"
		"\"annotations\":{" LABEL("version", "2") "," LABEL("revision", "a\\nb") "}}";
	static const char config[] =
		"{\"architecture\":\"arm64\",\"os\":\"linux\",\"created\":\"today\",\"config\":{"
		"\"Labels\":{" LABEL("title", "web") "," LABEL("version", "1") "," LABEL(
			"revision", "r7") "}}}";
	struct phx_oci_image im;
	assert_int_equal(phx_oci_manifest_parse(manifest, strlen(manifest), &im, NULL), 0);
	assert_int_equal(phx_oci_config_parse(config, strlen(config), &im, NULL), 0);
	assert_string_equal(im.architecture, "arm64");
	assert_string_equal(im.title, "web");
	assert_string_equal(im.version, "2");
	assert_string_equal(im.revision, "r7"); /* that of two lines is none */
	assert_string_equal(im.created, "today");
	assert_int_equal(im.layers.n, 1);
	assert_int_equal(PHX_LIST_AT(&im.layers, struct phx_oci_layer, 0)->size, 7);
	phx_oci_image_fini(&im);
	struct phx_err err = {0};
	assert_int_equal(phx_oci_config_parse("{}", 2, &im, &err), -EINVAL);
	assert_contains(err.text, "does not say its architecture");
	phx_err_clear(&err);
	static const char empty[] = "{\"config\":{\"digest\":\"" D "\"},\"layers\":[]}";
	assert_int_equal(phx_oci_manifest_parse(empty, strlen(empty), &im, &err), -EINVAL);
	assert_contains(err.text, "0 layers");
	phx_oci_image_fini(&im);
}

static void test_architectures(void **state)
{
	(void)state;
	assert_string_equal(phx_oci_architecture("x86_64"), "amd64");
	assert_string_equal(phx_oci_architecture("aarch64"), "arm64");
	assert_string_equal(phx_oci_architecture("riscv64"), "riscv64");
}

/* ---- tars ---- */

static int make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	strcpy(p->dir, "/tmp/phx-test-XXXXXX");
	*state = p;
	return mkdtemp(p->dir) ? 0 : -1;
}

static int unmake(void **state)
{
	struct place *p = *state;
	phx_dir_remove(p->dir, NULL);
	free(p);
	return 0;
}

/* A tar of the file NAME, which has 5,000 bytes, under the name that sed makes of it. */
static const char *make_tar(struct place *p, const char *rename, char tar[256])
{
	char text[5001], transform[300];
	memset(text, 'x', 5000);
	text[5000] = '\0';
	place_write(p, "name", text);
	place_path(p, "a.tar", tar);
	snprintf(transform, sizeof(transform), "--transform=s,name,%s,", rename);
	const struct phx_run job = {.argv = (const char *const[]){"tar", "-P", "-C", p->dir,
								  transform, "-czf", tar, "name",
								  NULL}};
	assert_int_equal(phx_run_check(&job, NULL, NULL), 0);
	return tar;
}

static void test_what_a_layer_holds(void **state)
{
	static const struct {
		const char *name, *says; /* "": it is taken */
	} rows[] = {
		{"a/b", ""},
		{"/abs", ""},
		{"a/..b/c..", ""},
		{"a/../b", "a/../b: a name with \"..\""},
		{"..", "..: a name with \"..\""},
		{"a/.wh.b", ""},
		{"a/.wh..wh..opq", ""},
		{"a/.wh.", "a whiteout of no name"},
		{"a/.wh..", "a whiteout of no name"},
		{"a/.wh...", "a whiteout of no name"},
		{"a/.wh..wh.b", "a whiteout of a whiteout"},
	};
	char tar[256];
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_layer_count count = {.bytes_max = 8192, .entries_max = 1};
		struct phx_err err = {0};
		int r = phx_layer_scan(make_tar(*state, rows[i].name, tar), true, &count, &err);
		assert_int_equal(r, rows[i].says[0] ? -EINVAL : 0);
		if (r < 0)
			assert_contains(err.text, rows[i].says);
		assert_int_equal(count.bytes, r < 0 ? 0 : 8192);
	}
	/* in a tar that is no layer it is a name as any other */
	struct phx_layer_count count = {.bytes_max = 8192, .entries_max = 1};
	assert_int_equal(phx_layer_scan(make_tar(*state, ".wh.", tar), false, &count, NULL), 0);
	/* counted over all layers */
	struct phx_err err = {0};
	assert_int_equal(phx_layer_scan(tar, false, &count, &err), -E2BIG);
	assert_contains(err.text, "more than 1 files");
	count = (struct phx_layer_count){.bytes_max = 8191, .entries_max = 1};
	phx_err_clear(&err);
	assert_int_equal(phx_layer_scan(tar, false, &count, &err), -E2BIG);
	assert_contains(err.text, "more than 8.0 KiB");
}

static void test_one_file_of_a_tar(void **state)
{
	char tar[256], *text;
	size_t n;
	struct phx_err err = {0};
	make_tar(*state, "./index.json", tar);
	assert_int_equal(phx_layer_read(tar, "index.json", 5000, &text, &n, NULL), 0);
	assert_int_equal(n, 5000);
	assert_int_equal(strspn(text, "x"), 5000);
	free(text);
	assert_int_equal(phx_layer_read(tar, "index.json", 4999, &text, &n, &err), -EINVAL);
	assert_contains(err.text, "index.json has more than 4999 bytes");
	assert_int_equal(phx_layer_read(tar, "other", 5000, &text, &n, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_which_container),
		cmocka_unit_test(test_an_index_that_is_none),
		cmocka_unit_test(test_annotations_overrule_labels),
		cmocka_unit_test(test_architectures),
		cmocka_unit_test_setup_teardown(test_what_a_layer_holds, make, unmake),
		cmocka_unit_test_setup_teardown(test_one_file_of_a_tar, make, unmake),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
