/* An archive of a head comes back as it was, or not at all: one bit altered, one byte less, another
 * key or passphrase, another entry, a journal that decides otherwise; and what is secret is in none
 * that is not sealed. */
#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/backup.h"
#include "backup/stream.h"
#include "base/file.h"
#include "base/json.h"
#include "base/tree.h"
#include "core/core.h"
#include "fake/append_one.h"
#include "store/store.h"
#include "unit/trace/traces.h"

enum { EVENTS = 30, SNAPSHOT = 12 };
#define PASSPHRASE "correct horse battery"

static char dir[64], head[96], etc[96], file[96], to[96], to_etc[96], pub[128];
static struct phx_err err;

static char *at(const char *base, const char *name)
{
	static char paths[4][256];
	static int turn;
	turn = (turn + 1) % 4;
	snprintf(paths[turn], sizeof(paths[turn]), "%s/%s", base, name);
	return paths[turn];
}

static void put(const char *base, const char *name, const char *text, mode_t mode)
{
	assert_int_equal(phx_file_write(at(base, name), text, strlen(text), mode, &err), 0);
}

static void expect(const char *base, const char *name, const char *text)
{
	char *got = NULL;
	size_t n;
	if (phx_file_read(at(base, name), 1 << 20, &got, &n, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(got, text);
	free(got);
}

static bool is_there(const char *base, const char *name)
{
	return access(at(base, name), F_OK) == 0;
}

static void journal_event(struct phx_store *store, struct phx_state *s, struct phx_event *ev)
{
	struct phx_outcome out;
	if (phx_core_apply(s, ev, &out, &err) < 0)
		fail_msg("%s", err.text);
	PHX_AUTO_FREE char *act = phx_json_list_text(&phx_action_record, &out.actions);
	PHX_AUTO_FREE char *event = phx_json_record_text_sparse(&phx_event_record, ev);
	phx_outcome_fini(&out);
	assert_int_equal(append_one(store, s->seq, ev->now_ms,
				    phx_enum_name(&phx_event_kind_names, ev->kind), ev->node, event,
				    act, NULL, &err),
			 0);
	if (s->seq != SNAPSHOT)
		return;
	PHX_AUTO_FREE char *snapshot = phx_json_record_text(&phx_state_record, s);
	assert_int_equal(phx_store_snapshot(store, s->seq, snapshot, &err), 0);
}

static void make_journal(struct phx_store *store, struct phx_state *s, int first, int n)
{
	for (int i = first; i < first + n; i++) {
		struct phx_event ev = {.kind = PHX_EV_node_add, .now_ms = 1000000 + i * 1000};
		snprintf(ev.node, sizeof(ev.node), "node%d", i);
		snprintf(ev.node_add.serial, sizeof(ev.node_add.serial), "SN%d", i);
		PHX_STR_SET(ev.by, "uid:0");
		journal_event(store, s, &ev);
		phx_event_fini(&ev);
	}
}

/* The head serves all the time: its journal is open, and locked. */
static struct phx_store *store;
static struct phx_state core;

static int setup(void **state)
{
	static const char *const dirs[] = {"head",          "head/keys",  "head/images/test/1",
					   "head/packages", "etc/roles",  "head/package-keys",
					   "etc/bmc",       "head/output"};
	struct phx_pki *pki;
	(void)state;
	strcpy(dir, "/tmp/phx-backup.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(head, sizeof(head), "%s/head", dir);
	snprintf(etc, sizeof(etc), "%s/etc", dir);
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(to, sizeof(to), "%s/new", dir);
	snprintf(to_etc, sizeof(to_etc), "%s/new-etc", dir);
	snprintf(pub, sizeof(pub), "%s/pki/site.pub", head);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(dirs); i++)
		assert_int_equal(phx_dir_make(at(dir, dirs[i]), 0755, &err), 0);
	assert_int_equal(phx_pki_open(at(head, "pki"), NULL, 0, &pki, &err), 0);
	phx_pki_free(pki);
	put(head, "keys/n1-disk", "0123456789abcdef", 0600);
	put(head, "images/test/1/manifest", "an image", 0644);
	put(head, "package-keys/builder.pub", "a key", 0644);
	put(head, "site-1.json", "{\"secret\":1}", 0600);
	put(etc, "phoenix.conf", "state_dir = \"x\";\n", 0644);
	put(etc, "roles/web.conf", "summary = \"web\";\n", 0644);
	put(etc, "bmc/password", "hunter2", 0600);
	assert_int_equal(phx_store_open(at(head, "journal.db"), &store, &err), 0);
	assert_int_equal(phx_state_init(&core), 0);
	make_journal(store, &core, 0, EVENTS);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_store_close(PHX_TAKE(store));
	phx_state_fini(&core);
	return phx_dir_remove(dir, NULL);
}

static int back_up(const char *passphrase, bool disk_keys)
{
	PHX_AUTO_FREE char *journal = strdup(at(head, "journal.db")),
			   *pki = strdup(at(head, "pki")), *keys = strdup(at(head, "keys")),
			   *images = strdup(at(head, "images")),
			   *packages = strdup(at(head, "packages")),
			   *ring = strdup(at(head, "package-keys")),
			   *roles = strdup(at(etc, "roles")), *bmc = strdup(at(etc, "bmc"));
	const struct phx_backup_places places = {head,     journal, pki, keys,  images,
						 packages, ring,    etc, roles, "/nonexistent/site",
						 bmc};
	const struct phx_backup_how how = {passphrase, disk_keys, false, "1.0"};
	struct phx_backup_done done;
	phx_err_clear(&err);
	int r = phx_backup_make(&places, &how, file, &done, &err);
	if (r == 0) {
		assert_int_equal(done.manifest.seq, core.seq);
		phx_backup_done_fini(&done);
	}
	return r;
}

static struct phx_restore_how how_of(const char *passphrase)
{
	return (struct phx_restore_how){.state_dir = to,
					.etc_dir = to_etc,
					.passphrase = passphrase,
					.pub = passphrase ? NULL : pub};
}

static int restore_by(const struct phx_restore_how *how, struct phx_backup_done *ret)
{
	struct phx_backup_done done;
	phx_err_clear(&err);
	int r = phx_backup_restore(file, how, &done, &err);
	if (r == 0 && ret)
		*ret = done;
	else if (r == 0)
		phx_backup_done_fini(&done);
	return r;
}

/* Nothing was placed, and nothing is left. */
static void refused(const char *passphrase, int code, const char *text)
{
	struct phx_restore_how how = how_of(passphrase);
	int r = restore_by(&how, NULL);
	if (r != code || !strstr(err.text, text))
		fail_msg("%d: %s", r, err.text);
	assert_false(is_there(dir, "new"));
	assert_false(is_there(dir, "new.restoring"));
	assert_false(is_there(dir, "new-etc"));
	assert_false(is_there(dir, "new-etc.restoring"));
}

static void same_key(const char *name)
{
	char *was = NULL;
	size_t n;
	assert_int_equal(phx_file_read(at(head, name), 1 << 16, &was, &n, &err), 0);
	expect(to, name, was);
	free(was);
}

static void a_sealed_one_comes_back_whole(void **state)
{
	struct phx_backup_done done;
	struct phx_restore_how how = how_of(PASSPHRASE);
	struct stat st;
	(void)state;
	assert_int_equal(back_up(PASSPHRASE, true), 0);
	make_journal(store, &core, EVENTS, 5); /* it goes on */
	if (restore_by(&how, &done) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(done.n_events, EVENTS);
	assert_int_equal(done.last, EVENTS);
	assert_true(done.sealed && done.manifest.keys && done.manifest.disk_keys);
	phx_backup_done_fini(&done);
	same_key("pki/ca.key");
	same_key("pki/site.key");
	expect(to, "keys/n1-disk", "0123456789abcdef");
	expect(to, "site-1.json", "{\"secret\":1}");
	expect(to_etc, "bmc/password", "hunter2");
	expect(to_etc, "roles/web.conf", "summary = \"web\";\n");
	assert_false(is_there(to, "images"));
	assert_int_equal(stat(at(to, "pki/ca.key"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(at(to, "keys"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_false(is_there(to, "journal.db.lock"));
	assert_false(is_there(to, "journal.db.mark"));
}

static void disk_keys_are_only_in_it_when_asked(void **state)
{
	struct phx_restore_how how = how_of(PASSPHRASE);
	(void)state;
	assert_int_equal(back_up(NULL, true), -EINVAL);
	assert_false(is_there(dir, "file"));
	assert_int_equal(back_up(PASSPHRASE, false), 0);
	assert_int_equal(restore_by(&how, NULL), 0);
	assert_false(is_there(to, "keys"));
	same_key("pki/ca.key");
}

static void a_plain_one_has_nothing_secret(void **state)
{
	struct phx_restore_how how = how_of(NULL);
	struct phx_backup_done done;
	(void)state;
	assert_int_equal(back_up(NULL, false), 0);
	how.check = true;
	assert_int_equal(restore_by(&how, NULL), 0);
	assert_false(is_there(dir, "new"));
	how.check = false;
	assert_int_equal(restore_by(&how, &done), 0);
	assert_false(done.manifest.keys);
	/* ca.key, server.key and others, site-1.json, the password */
	assert_true(done.manifest.left_out.n >= 5);
	phx_backup_done_fini(&done);
	assert_false(is_there(to, "pki/ca.key"));
	assert_false(is_there(to, "pki/site.key"));
	assert_false(is_there(to, "pki/start.key"));
	assert_false(is_there(to, "keys"));
	assert_false(is_there(to, "site-1.json"));
	assert_false(is_there(to_etc, "bmc/password"));
	assert_true(is_there(to, "pki/ca.pem"));
	expect(to, "package-keys/builder.pub", "a key");
}

/* One that only by its place looks public. */
static void a_private_key_is_secret_whatever_its_name(void **state)
{
	struct phx_restore_how how = how_of(NULL);
	(void)state;
	put(etc, "copy.pem", "-----BEGIN PRIVATE KEY-----\nxx\n", 0644);
	assert_int_equal(back_up(NULL, false), 0);
	assert_int_equal(restore_by(&how, NULL), 0);
	assert_false(is_there(to_etc, "copy.pem"));
}

static void flip(off_t where)
{
	uint8_t byte;
	int fd = open(file, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, where), 1);
	byte ^= 4;
	assert_int_equal(pwrite(fd, &byte, 1, where), 1);
	close(fd);
}

static off_t size_of(void)
{
	struct stat st;
	assert_int_equal(stat(file, &st), 0);
	return st.st_size;
}

static void every_altered_bit_of_a_sealed_one_is_found(void **state)
{
	(void)state;
	assert_int_equal(back_up(PASSPHRASE, false), 0);
	off_t n = size_of();
	const off_t places[] = {16, 31, 32, 40, n / 3, n / 2, n - 17, n - 1};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(places); i++) {
		flip(places[i]);
		refused(PASSPHRASE, -EBADMSG, "altered");
		flip(places[i]);
	}
	refused("another passphrase", -EBADMSG, "the passphrase is another one");
	refused(NULL, -ENOKEY, "--passphrase-file");
	assert_int_equal(truncate(file, n - 1), 0);
	refused(PASSPHRASE, -EBADMSG, "cut off");
	assert_int_equal(truncate(file, 32 + 65536 + 16), 0); /* at the end of a chunk */
	refused(PASSPHRASE, -EBADMSG, "altered");
	assert_int_equal(truncate(file, 20), 0);
	refused(PASSPHRASE, -EBADMSG, "cut off");
}

static void a_plain_one_is_as_it_was_signed(void **state)
{
	struct phx_restore_how how = how_of(NULL);
	(void)state;
	assert_int_equal(back_up(NULL, false), 0);
	off_t n = size_of();
	flip(n / 2);
	refused(NULL, -EBADMSG, "altered");
	flip(n / 2);
	assert_int_equal(truncate(file, n / 2), 0);
	refused(NULL, -EBADMSG, "altered");
	assert_int_equal(back_up(NULL, false), 0);
	how.pub = NULL;
	assert_int_equal(restore_by(&how, NULL), -EKEYREJECTED);
	how.pub = at(head, "pki/attest.pub"); /* a key, and not this one */
	assert_int_equal(restore_by(&how, NULL), -EKEYREJECTED);
	assert_false(is_there(dir, "new"));
	put(dir, "file", "no backup", 0600);
	refused(NULL, -EBADMSG, "no backup of a head");
}

static void a_journal_that_decides_otherwise_is_not_placed(void **state)
{
	sqlite3 *db;
	(void)state;
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(sqlite3_open(at(head, "journal.db"), &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, "UPDATE events SET actions='[]' WHERE seq=20", NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(back_up(PASSPHRASE, false), 0);
	refused(PASSPHRASE, -EPROTO, "event 20");
}

/* Its decisions come out the same, and yet somebody wrote in it. */
static void a_journal_that_was_written_in_is_not_placed(void **state)
{
	sqlite3 *db;
	(void)state;
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(sqlite3_open(at(head, "journal.db"), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "UPDATE events SET event=replace(event,'SN29','SN99') WHERE "
				      "seq=30",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(back_up(PASSPHRASE, false), 0);
	refused(PASSPHRASE, -EBADMSG, "event 30");
}

static void nothing_is_overwritten(void **state)
{
	struct phx_restore_how how = how_of(PASSPHRASE);
	struct phx_backup_done done;
	(void)state;
	assert_int_equal(back_up(PASSPHRASE, false), 0);
	assert_int_equal(mkdir(to, 0755), 0);
	assert_int_equal(mkdir(at(to, "re"), 0755), 0);
	put(to, "re/data", "of users", 0644);
	put(to, "journal.db", "older", 0644);
	assert_int_equal(restore_by(&how, NULL), -ENOTEMPTY);
	expect(to, "journal.db", "older");
	how.force = true;
	assert_int_equal(restore_by(&how, &done), 0);
	assert_false(is_there(to, "re/data"));
	expect(done.old_state, "re/data", "of users");
	expect(done.old_state, "journal.db", "older");
	phx_backup_done_fini(&done);
}

static void what_it_lacks_is_taken_over(void **state)
{
	struct phx_restore_how how = how_of(NULL);
	struct phx_backup_done done;
	(void)state;
	assert_int_equal(back_up(NULL, false), 0);
	phx_store_close(PHX_TAKE(store));
	how.state_dir = head;
	how.force = how.keep = true;
	PHX_AUTO_FREE char *kept = strdup(at(dir, "site.pub")), *text = NULL;
	size_t n;
	assert_int_equal(phx_file_read(pub, 4096, &text, &n, &err), 0);
	put(dir, "site.pub", text, 0644);
	how.pub = kept;
	assert_int_equal(restore_by(&how, &done), 0);
	expect(head, "keys/n1-disk", "0123456789abcdef");
	expect(head, "images/test/1/manifest", "an image");
	assert_true(is_there(head, "pki/ca.key"));
	assert_true(is_there(head, "output"));
	assert_false(is_there(head, "journal.db.mark"));
	assert_true(is_there(done.old_state, "journal.db.mark"));
	phx_backup_done_fini(&done);
}

static void a_head_that_runs_is_left_alone(void **state)
{
	struct phx_restore_how how = how_of(PASSPHRASE);
	(void)state;
	assert_int_equal(back_up(PASSPHRASE, false), 0);
	how.state_dir = head;
	how.force = true;
	assert_int_equal(restore_by(&how, NULL), -EBUSY);
	assert_non_null(strstr(err.text, "a head runs on"));
	assert_true(is_there(head, "keys/n1-disk"));
}

/* The second directory goes away with the first one, and so cannot be placed. */
static void all_or_nothing_is_placed(void **state)
{
	struct phx_restore_how how = how_of(PASSPHRASE);
	(void)state;
	assert_int_equal(back_up(PASSPHRASE, false), 0);
	assert_int_equal(mkdir(to, 0755), 0);
	put(to, "old", "state", 0644);
	snprintf(to_etc, sizeof(to_etc), "%s/etc", to);
	how.force = true;
	assert_int_equal(restore_by(&how, NULL), -ENOENT);
	expect(to, "old", "state");
	assert_false(is_there(to, "journal.db"));
	assert_false(is_there(to, "etc"));
	assert_false(is_there(dir, "new.restoring"));
}

static void a_passphrase_is_secret_and_long(void **state)
{
	char got[PHX_PASSPHRASE_MAX];
	(void)state;
	put(dir, "pass", PASSPHRASE "\n", 0600);
	assert_int_equal(phx_passphrase_read(at(dir, "pass"), got, &err), 0);
	assert_string_equal(got, PASSPHRASE);
	put(dir, "pass", PASSPHRASE "\n", 0640);
	assert_int_equal(phx_passphrase_read(at(dir, "pass"), got, &err), -EPERM);
	put(dir, "pass", "short\nand more lines\n", 0600);
	assert_int_equal(phx_passphrase_read(at(dir, "pass"), got, &err), -EINVAL);
	assert_int_equal(phx_passphrase_read(at(dir, "none"), got, &err), -ENOENT);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(a_sealed_one_comes_back_whole),
		EACH(disk_keys_are_only_in_it_when_asked),
		EACH(a_plain_one_has_nothing_secret),
		EACH(a_private_key_is_secret_whatever_its_name),
		EACH(every_altered_bit_of_a_sealed_one_is_found),
		EACH(a_plain_one_is_as_it_was_signed),
		EACH(a_journal_that_decides_otherwise_is_not_placed),
		EACH(a_journal_that_was_written_in_is_not_placed),
		EACH(nothing_is_overwritten),
		EACH(what_it_lacks_is_taken_over),
		EACH(a_head_that_runs_is_left_alone),
		EACH(all_or_nothing_is_placed),
		EACH(a_passphrase_is_secret_and_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
