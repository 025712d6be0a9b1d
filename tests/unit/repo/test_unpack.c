/* Unpacking: what is written, and every hostile or damaged archive refused with nothing left
 * behind. All archives here carry the site's right signature, unless the test is about signatures:
 * the checks behind it must hold alone. */
#include "hostile.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <zstd.h>

/* In the place of the C library's, for this program: what an unpacked version replaces was not
 * there before. */
static struct {
	uint32_t versions;
	bool in_place;
} renamed;

int rename(const char *from, const char *to)
{
	const char *version = strstr(to, "/made/1.0");
	if (version && !strcmp(version, "/made/1.0")) {
		renamed.versions++;
		renamed.in_place |= access(to, F_OK) == 0;
	}
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static const struct item hello = {.path = "hello", .data = "hello\n"};

static void honest(void **state)
{
	struct place *p = *state;
	struct phx_package made = {0};
	MAKE(p, NULL, {.path = "bin", .mode = S_IFDIR | 0700},
	     {.path = "bin/run", .mode = S_IFREG | 0755, .data = "#!"},
	     {.path = "empty", .data = ""}, {.path = "etc/deep", .mode = S_IFDIR | 0755},
	     {.path = "etc/deep/up", .mode = S_IFLNK | 0777, .target = "../../bin/run"},
	     {.path = "open", .mode = S_IFREG | 0666, .data = "x"},
	     {.path = "run", .mode = S_IFLNK | 0777, .target = "bin/run"});
	struct phx_err err = {0};
	assert_int_equal(phx_package_unpack(p->archive, p->pub, p->root, NULL, &made, &err), 0);
	assert_string_equal(made.name, "made");
	assert_string_equal(made.version, "1.0");
	assert_int_equal(made.n_entries, 7);
	assert_int_equal(made.unpacked_bytes, 3);
	PHX_AUTO_FREE char *tree = list_tree(p->root);
	assert_string_equal(
		tree,
		"d 755 made\nd 755 made/1.0\nd 755 made/1.0/PHX\nd 755 made/1.0/bin\n"
		"d 755 made/1.0/etc\nd 755 made/1.0/etc/deep\nf 644 made/1.0/PHX/manifest.conf\n"
		"f 644 made/1.0/PHX/sha256\nf 644 made/1.0/empty\nf 644 made/1.0/open\n"
		"f 755 made/1.0/bin/run\nl 777 made/1.0/etc/deep/up\nl 777 made/1.0/run\n");
	PHX_AUTO_FREE char *digest = read_text(p->root, "made/1.0/PHX/sha256");
	assert_string_equal(digest, made.sha256);
}

/* A power cut in the middle leaves no half of a version under its name. */
static void whole_or_not_there(void **state)
{
	struct place *p = *state;
	MAKE(p, NULL, hello);
	memset(&renamed, 0, sizeof(renamed));
	assert_int_equal(unpack(p, NULL, NULL), 0);
	assert_int_equal(renamed.versions, 1);
	assert_false(renamed.in_place);
}

/* The caller's working directory and umask are its own, before and after. */
static void caller_untouched(void **state)
{
	struct place *p = *state;
	char before[4096], after[4096];
	assert_non_null(getcwd(before, sizeof(before)));
	mode_t had = umask(077);
	MAKE(p, NULL, hello);
	assert_int_equal(unpack(p, NULL, NULL), 0);
	assert_int_equal(umask(had), 077);
	assert_non_null(getcwd(after, sizeof(after)));
	assert_string_equal(before, after);
	PHX_AUTO_FREE char *tree = list_tree(p->root);
	assert_non_null(strstr(tree, "f 644 made/1.0/hello\n"));
	assert_non_null(strstr(tree, "d 755 made/1.0\n"));
}

static void again_and_changed(void **state)
{
	struct place *p = *state;
	MAKE(p, NULL, hello);
	assert_int_equal(unpack(p, NULL, NULL), 0);
	write_text(p->root, "made/1.0/witness", "", 0644);
	assert_int_equal(unpack(p, NULL, NULL), 0);
	PHX_AUTO_FREE char *kept = read_text(p->root, "made/1.0/witness");
	MAKE(p, NULL, {.path = "hello", .data = "other"});
	assert_int_equal(unpack(p, NULL, "other bytes"), -EEXIST);
	PHX_AUTO_FREE char *text = read_text(p->root, "made/1.0/hello");
	assert_string_equal(text, "hello\n");
}

static void non_ascii_names(void **state)
{
	struct place *p = *state;
	MAKE(p, NULL,
	     {.path = "Gr\xc3\xbc\xc3\x9f"
		      "e",
	      .data = "1"},
	     {.path = "latin\xe9", .data = "2"});
	assert_int_equal(unpack(p, NULL, NULL), 0);
	PHX_AUTO_FREE char *one = read_text(p->root,
					    "made/1.0/Gr\xc3\xbc\xc3\x9f"
					    "e");
	PHX_AUTO_FREE char *two = read_text(p->root, "made/1.0/latin\xe9");
	assert_string_equal(one, "1");
	assert_string_equal(two, "2");
}

/* pax headers carry UTF-8, and libarchive warns of it in the C locale that tests run in. */
static void non_ascii_names_pax(void **state)
{
	struct place *p = *state;
	const struct shape pax = {.pax = true};
	MAKE(p, &pax,
	     {.path = "Gr\xc3\xbc\xc3\x9f"
		      "e",
	      .data = "1"});
	assert_int_equal(unpack(p, NULL, NULL), 0);
	PHX_AUTO_FREE char *one = read_text(p->root,
					    "made/1.0/Gr\xc3\xbc\xc3\x9f"
					    "e");
	assert_string_equal(one, "1");
}

static void paths_that_escape(void **state)
{
	struct place *p = *state;
	static const char *const bad[] = {"../out", "a/../../out", "a/..", "..",   "./a",  "a/./b",
					  "a//b",   "/etc/out",    "/",    "a\nb", "a\x7f"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		MAKE(p, NULL, {.path = bad[i], .data = "x"});
		assert_int_equal(unpack(p, NULL, "path"), -EPERM);
	}
	MAKE(p, NULL, {.path = "/etc/out", .data = "x"});
	assert_int_equal(unpack(p, NULL, "/etc/out: absolute path"), -EPERM);
	PHX_AUTO_FREE char *out = in_place(p, "out");
	assert_int_not_equal(access(out, F_OK), 0);
}

static void reserved_names(void **state)
{
	struct place *p = *state;
	MAKE(p, NULL, {.path = "PHX/sha256", .data = "x"});
	assert_int_equal(unpack(p, NULL, "reserved"), -EPERM);
	MAKE(p, NULL, {.path = "PHX", .mode = S_IFLNK | 0777, .target = "x"});
	assert_int_equal(unpack(p, NULL, "reserved"), -EPERM);
	MAKE(p, NULL, {.path = "PHX/manifest.conf", .data = "x"});
	assert_int_equal(unpack(p, NULL, "reserved"), -EPERM);
	MAKE(p, NULL, {.path = "PHXother", .data = "x"});
	assert_int_equal(unpack(p, NULL, NULL), 0);
}

static void links_that_escape(void **state)
{
	struct place *p = *state;
	static const char *const bad[] = {"/etc/passwd", "..", "../..", "../x/../..", "d/../../x",
					  "x/..",        ".",  "",      "d//x"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		MAKE(p, NULL, {.path = "evil", .mode = S_IFLNK | 0777, .target = bad[i]});
		assert_int_equal(unpack(p, NULL, "link"), -EPERM);
	}
	MAKE(p, NULL, {.path = "d/evil", .mode = S_IFLNK | 0777, .target = "../../etc"});
	assert_int_equal(unpack(p, NULL, "out of the package"), -EPERM);
}

/* "s" leads to the root, "s/../.." would be inside by its letters and outside on disk. */
static void link_through_link(void **state)
{
	struct place *p = *state;
	MAKE(p, NULL, {.path = "a/b", .mode = S_IFDIR | 0755},
	     {.path = "a/b/s", .mode = S_IFLNK | 0777, .target = "../.."},
	     {.path = "t", .mode = S_IFLNK | 0777, .target = "a/b/s/../.."});
	assert_int_equal(unpack(p, NULL, "t: link"), -EPERM);
}

static void file_through_link(void **state)
{
	struct place *p = *state;
	MAKE(p, NULL, {.path = "a", .mode = S_IFLNK | 0777, .target = "/tmp"},
	     {.path = "a/evil", .data = "x"});
	assert_int_equal(unpack(p, NULL, "a: link"), -EPERM);
	/* even where the link stays inside */
	MAKE(p, NULL, {.path = "a", .mode = S_IFDIR | 0755},
	     {.path = "b", .mode = S_IFLNK | 0777, .target = "a"}, {.path = "b/evil", .data = "x"});
	assert_int_equal(unpack(p, NULL, "b/evil"), -EPERM);
}

static void hard_links(void **state)
{
	struct place *p = *state;
	MAKE(p, NULL, {.path = "evil", .hard = "/etc/passwd"});
	assert_int_equal(unpack(p, NULL, "evil: hard link"), -EPERM);
	MAKE(p, NULL, hello, {.path = "same", .hard = "hello"});
	assert_int_equal(unpack(p, NULL, "same: hard link"), -EPERM);
	MAKE(p, NULL, {.path = "evil", .hard = "made/1.0/../../../site/site.key"});
	assert_int_equal(unpack(p, NULL, "hard link"), -EPERM);
}

static void special_files(void **state)
{
	struct place *p = *state;
	MAKE(p, NULL, {.path = "mem", .mode = S_IFCHR | 0666});
	assert_int_equal(unpack(p, NULL, "mem: device"), -EPERM);
	MAKE(p, NULL, {.path = "disk", .mode = S_IFBLK | 0666});
	assert_int_equal(unpack(p, NULL, "disk: device"), -EPERM);
	MAKE(p, NULL, {.path = "pipe", .mode = S_IFIFO | 0666});
	assert_int_equal(unpack(p, NULL, "pipe: fifo"), -EPERM);
}

static void special_modes(void **state)
{
	struct place *p = *state;
	MAKE(p, NULL, {.path = "su", .mode = S_IFREG | 04755, .data = "x"});
	assert_int_equal(unpack(p, NULL, "su: set-id"), -EPERM);
	MAKE(p, NULL, {.path = "sg", .mode = S_IFREG | 02755, .data = "x"});
	assert_int_equal(unpack(p, NULL, "sg: set-id"), -EPERM);
	MAKE(p, NULL, {.path = "dir", .mode = S_IFDIR | 02755});
	assert_int_equal(unpack(p, NULL, "dir: set-id"), -EPERM);
	MAKE(p, NULL, {.path = "tmp", .mode = S_IFDIR | 01777});
	assert_int_equal(unpack(p, NULL, "tmp: set-id or sticky"), -EPERM);
}

static void twice_or_unordered(void **state)
{
	struct place *p = *state;
	MAKE(p, NULL, hello, hello);
	assert_int_equal(unpack(p, NULL, "hello: twice"), -EPERM);
	MAKE(p, NULL, {.path = "b", .data = ""}, {.path = "a", .data = ""});
	assert_int_equal(unpack(p, NULL, "a: twice, or out of order"), -EPERM);
}

static void a_file_as_directory(void **state)
{
	struct place *p = *state;
	MAKE(p, NULL, {.path = "a", .data = "x"}, {.path = "a/b", .data = "y"});
	assert_true(unpack(p, NULL, "a/b") < 0);
}

static void bombs(void **state)
{
	struct place *p = *state;
	MAKE(p, NULL, {.path = "bomb", .n_zeros = 64 << 20});
	assert_int_equal(unpack(p, NULL, "times its size"), -E2BIG);
	const struct phx_package_limits few_bytes = {.bytes_max = 5};
	MAKE(p, NULL, hello);
	assert_int_equal(unpack(p, &few_bytes, "5 bytes"), -E2BIG);
	MAKE(p, NULL, {.path = "a", .data = "12345"});
	assert_int_equal(unpack(p, &few_bytes, NULL), 0);
}

/* In the plain tar `data`, give the entry `path` the size in `octal` (11 digits) and the checksum
 * that fits. */
static void patch_size(char *data, size_t n, const char *path, const char *octal)
{
	char *h = data;
	while (h + 512 <= data + n && strcmp(h, path) != 0)
		h += 512;
	assert_true(h + 512 <= data + n);
	memcpy(h + 124, octal, 11);
	memset(h + 148, ' ', 8);
	unsigned int sum = 0;
	for (size_t i = 0; i < 512; i++)
		sum += (unsigned char)h[i];
	snprintf(h + 148, 8, "%06o", sum);
}

/* A header that promises more than is allowed is refused before a byte is written. */
static void size_that_lies(void **state)
{
	struct place *p = *state;
	const struct shape plain = {.plain = true};
	MAKE(p, &plain, {.path = "huge", .data = "x"});
	PHX_AUTO_FREE char *data = NULL;
	size_t n;
	assert_int_equal(phx_file_read(p->archive, 1 << 20, &data, &n, NULL), 0);
	patch_size(data, n, "huge", "77777777777");
	size_t room = ZSTD_compressBound(n);
	PHX_AUTO_FREE char *packed = malloc(room);
	size_t n_packed = ZSTD_compress(packed, room, data, n, 1);
	assert_false(ZSTD_isError(n_packed));
	assert_int_equal(phx_file_write(p->archive, packed, n_packed, 0644, NULL), 0);
	assert_int_equal(phx_package_sign(p->archive, p->key, NULL), 0);
	assert_int_equal(unpack(p, NULL, "2147483648 bytes"), -E2BIG);
}

static void too_many_entries(void **state)
{
	struct place *p = *state;
	const struct phx_package_limits two = {.entries_max = 2};
	MAKE(p, NULL, {.path = "a", .data = ""}, {.path = "b", .data = ""});
	assert_int_equal(unpack(p, &two, NULL), 0);
	assert_int_equal(phx_package_remove(p->root, "made", NULL, NULL), 0);
	MAKE(p, NULL, {.path = "a", .data = ""}, {.path = "b", .data = ""},
	     {.path = "c", .data = ""});
	assert_int_equal(unpack(p, &two, "2 entries"), -E2BIG);
}

/* Cut at many places and signed as it then is: never accepted, never anything left. */
static void truncated(void **state)
{
	struct place *p = *state;
	MAKE(p, NULL, {.path = "a", .data = "first"}, {.path = "b", .n_zeros = 100000},
	     {.path = "c", .data = "last"});
	PHX_AUTO_FREE char *data = NULL;
	size_t n;
	assert_int_equal(phx_file_read(p->archive, 1 << 20, &data, &n, NULL), 0);
	for (size_t cut = 0; cut < n; cut += 1 + n / 60) {
		assert_int_equal(phx_file_write(p->archive, data, cut, 0644, NULL), 0);
		assert_int_equal(unpack(p, NULL, "altered"), -EKEYREJECTED);
		assert_int_equal(phx_package_sign(p->archive, p->key, NULL), 0);
		assert_int_equal(unpack(p, NULL, ""), -EBADMSG);
	}
}

/* Ends early, but well-formed: the manifest's counts tell. */
static void entries_missing(void **state)
{
	struct place *p = *state;
	const struct shape more = {
		.manifest = "name=\"made\";version=\"1.0\";arch=\"all\";summary=\"\";"
			    "unpacked_bytes=\"6\";n_entries=\"2\";"};
	MAKE(p, &more, hello);
	assert_int_equal(unpack(p, NULL, "the manifest says 2"), -EBADMSG);
	const struct shape bytes = {
		.manifest = "name=\"made\";version=\"1.0\";arch=\"all\";summary=\"\";"
			    "unpacked_bytes=\"7\";n_entries=\"1\";"};
	MAKE(p, &bytes, hello);
	assert_int_equal(unpack(p, NULL, "of 7"), -EBADMSG);
}

static void flipped_byte(void **state)
{
	struct place *p = *state;
	MAKE(p, NULL, hello);
	PHX_AUTO_FREE char *data = NULL;
	size_t n;
	assert_int_equal(phx_file_read(p->archive, 1 << 20, &data, &n, NULL), 0);
	for (size_t i = 0; i < n; i += 1 + n / 20) {
		data[i] ^= 0x10;
		assert_int_equal(phx_file_write(p->archive, data, n, 0644, NULL), 0);
		assert_int_equal(unpack(p, NULL, "altered"), -EKEYREJECTED);
		data[i] ^= 0x10;
	}
}

static void signatures(void **state)
{
	struct place *p = *state;
	PHX_AUTO_FREE char *sig = phx_path("%s.sig", p->archive);
	MAKE(p, NULL, hello);
	assert_int_equal(phx_package_sign(p->archive, p->stranger_key, NULL), 0);
	assert_int_equal(unpack(p, NULL, "not signed by"), -EKEYREJECTED);
	assert_int_equal(phx_file_write(sig, "short", 5, 0644, NULL), 0);
	assert_int_equal(unpack(p, NULL, "not a signature"), -EKEYREJECTED);
	char zeros[PHX_SIG_SIZE + 1] = {0};
	assert_int_equal(phx_file_write(sig, zeros, sizeof(zeros), 0644, NULL), 0);
	assert_int_equal(unpack(p, NULL, "not a signature"), -EKEYREJECTED);
	assert_int_equal(phx_file_write(sig, zeros, PHX_SIG_SIZE, 0644, NULL), 0);
	assert_int_equal(unpack(p, NULL, ""), -EKEYREJECTED);
	assert_int_equal(unlink(sig), 0);
	assert_int_equal(unpack(p, NULL, "no signature"), -EKEYREJECTED);
	/* the site's signature over the same bytes as something else is no package signature */
	PHX_AUTO_FREE char *data = NULL;
	size_t n;
	uint8_t raw[PHX_SIG_SIZE];
	assert_int_equal(phx_file_read(p->archive, 1 << 20, &data, &n, NULL), 0);
	assert_int_equal(phx_sign(p->key, data, n, raw, NULL), 0);
	assert_int_equal(phx_file_write(sig, raw, sizeof(raw), 0644, NULL), 0);
	assert_int_equal(unpack(p, NULL, ""), -EKEYREJECTED);
}

static void no_package_at_all(void **state)
{
	struct place *p = *state;
	const struct shape none = {.no_manifest = true}, last = {.manifest_last = true},
			   plain = {.plain = true};
	const struct shape twice = {.twice = true};
	MAKE(p, &none, hello);
	assert_int_equal(unpack(p, NULL, "first entry"), -EBADMSG);
	MAKE(p, &last, hello);
	assert_int_equal(unpack(p, NULL, "first entry"), -EBADMSG);
	MAKE(p, &plain, hello);
	assert_int_equal(unpack(p, NULL, "not a tar.zst"), -EBADMSG);
	MAKE(p, &twice, hello);
	assert_int_equal(unpack(p, NULL, "not a tar.zst"), -EBADMSG);
	write_text(p->dir, "made.tar.zst", "just text, nothing else", 0644);
	assert_int_equal(phx_package_sign(p->archive, p->key, NULL), 0);
	assert_int_equal(unpack(p, NULL, "damaged"), -EBADMSG);
	write_text(p->dir, "made.tar.zst", "", 0644);
	assert_int_equal(phx_package_sign(p->archive, p->key, NULL), 0);
	assert_int_equal(unpack(p, NULL, ""), -EBADMSG);
	assert_int_equal(unlink(p->archive), 0);
	assert_int_equal(unpack(p, NULL, "made.tar.zst"), -ENOENT);
	assert_int_equal(mkdir(p->archive, 0755), 0);
	assert_int_equal(unpack(p, NULL, "not a file"), -EINVAL);
}

static void bad_manifest(void **state)
{
	struct place *p = *state;
	const struct shape name = {
		.manifest = "name=\"../made\";version=\"1.0\";arch=\"all\";summary=\"\";"
			    "unpacked_bytes=\"6\";n_entries=\"1\";"};
	MAKE(p, &name, hello);
	assert_int_equal(unpack(p, NULL, "manifest.conf: line 1: name"), -EBADMSG);
	const struct shape version = {
		.manifest = "name=\"made\";\nversion=\"current\";arch=\"all\";summary=\"\";"
			    "unpacked_bytes=\"6\";n_entries=\"1\";"};
	MAKE(p, &version, hello);
	assert_int_equal(unpack(p, NULL, "line 2: version"), -EBADMSG);
}

static void wrong_arch(void **state)
{
	struct place *p = *state;
	const struct shape s390x = {.arch = "s390x"};
	MAKE(p, &s390x, hello);
	assert_int_equal(unpack(p, NULL, "made for s390x"), -ENOEXEC);
}

/* What a power cut leaves is neither taken for the package nor in the way, and goes. */
static void interrupted(void **state)
{
	struct place *p = *state;
	write_text(p->root, "made/.1.0.tmp/hello", "half", 0600);
	write_text(p->root, "made/.1.0.tmp/PHX/sha256", "0", 0600);
	write_text(p->root, "made/.0.9.tmp/sub/file", "half", 0600);
	MAKE(p, NULL, hello);
	assert_int_equal(unpack(p, NULL, NULL), 0);
	PHX_AUTO_FREE char *tree = list_tree(p->root);
	assert_null(strstr(tree, ".tmp"));
	PHX_AUTO_FREE char *text = read_text(p->root, "made/1.0/hello");
	assert_string_equal(text, "hello\n");
}

/* A directory of that version without our digest is not believed. */
static void foreign_directory(void **state)
{
	struct place *p = *state;
	write_text(p->root, "made/1.0/hello", "planted", 0644);
	MAKE(p, NULL, hello);
	assert_int_equal(unpack(p, NULL, "other bytes"), -EEXIST);
}

static void root_is_no_directory(void **state)
{
	struct place *p = *state;
	write_text(p->dir, "pkg", "a file", 0644);
	MAKE(p, NULL, hello);
	assert_true(unpack(p, NULL, "pkg") < 0);
}

static void *unpack_in_thread(void *arg)
{
	const struct place *p = arg;
	return (void *)(intptr_t)phx_package_unpack(p->archive, p->pub, p->root, NULL, NULL, NULL);
}

static void at_the_same_time(void **state)
{
	struct place *p = *state;
	pthread_t threads[4];
	MAKE(p, NULL, {.path = "a", .data = "x"}, {.path = "b", .n_zeros = 300000});
	for (size_t i = 0; i < PHX_ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, unpack_in_thread, p), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(threads); i++) {
		void *r;
		pthread_join(threads[i], &r);
		assert_int_equal((intptr_t)r, 0);
	}
	PHX_AUTO_FREE char *tree = list_tree(p->root);
	assert_null(strstr(tree, ".tmp"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(honest),
		TEST(whole_or_not_there),
		TEST(caller_untouched),
		TEST(again_and_changed),
		TEST(non_ascii_names),
		TEST(non_ascii_names_pax),
		TEST(paths_that_escape),
		TEST(reserved_names),
		TEST(links_that_escape),
		TEST(link_through_link),
		TEST(file_through_link),
		TEST(hard_links),
		TEST(special_files),
		TEST(special_modes),
		TEST(twice_or_unordered),
		TEST(a_file_as_directory),
		TEST(bombs),
		TEST(size_that_lies),
		TEST(too_many_entries),
		TEST(truncated),
		TEST(entries_missing),
		TEST(flipped_byte),
		TEST(signatures),
		TEST(no_package_at_all),
		TEST(bad_manifest),
		TEST(wrong_arch),
		TEST(interrupted),
		TEST(foreign_directory),
		TEST(root_is_no_directory),
		TEST(at_the_same_time),
	};
	return cmocka_run_group_tests_name("unpack", tests, NULL, NULL);
}
