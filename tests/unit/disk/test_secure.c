/* Erase by the drive: honest drives, and those that abort, lie, freeze, hang. */
#include "fake/drive.h"

#include "disk/identify.h"

enum { SIZE = 40 * MIB };
static const char canary[] = "the customer's secret records";

struct bench {
	struct place *p;
	struct fake_drive drive;
	struct phx_device dev;
	struct phx_wipe_order order;
	struct phx_wipe_result result;
	struct phx_err err;
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	b->p = place_new(SIZE);
	b->drive = (struct fake_drive){
		.file = b->p->file, .size = SIZE, .n_namespaces = 1, .polls_left = 3};
	b->dev = (struct phx_device){&fake_drive_ops, &b->drive};
	b->order = (struct phx_wipe_order){.method = PHX_WIPE_SECURE_ERASE, .seed = 4711};
	strcpy(b->p->facts.bus, "ata");
	for (uint64_t at = 0; at < SIZE; at += MIB / 2)
		put(b->p->file, at + 1000, canary, sizeof(canary));
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;
	place_free(b->p);
	free(b);
	return 0;
}

static int wipe(struct bench *b)
{
	phx_err_clear(&b->err);
	if (b->drive.nvme)
		strcpy(b->p->facts.bus, "nvme");
	return phx_disk_wipe_with(&b->dev, b->p->file, &b->p->facts, &b->order, NULL, NULL,
				  &b->result, &b->err);
}

static void assert_erased(struct bench *b, const char *detail)
{
	assert_true(b->result.verified);
	assert_true(b->result.verified_bytes >= 32 * MIB);
	assert_non_null(strstr(b->result.detail, detail));
	assert_int_equal(search(b->p->file, canary, sizeof(canary)), -1);
	assert_int_equal(b->drive.n_erases, 1);
}

/* Not a byte differs from what setup() wrote. */
static void assert_untouched(struct bench *b)
{
	char data[sizeof(canary)];
	static uint8_t head[1000];
	assert_int_equal(b->drive.n_erases, 0);
	get(b->p->file, 0, head, sizeof(head));
	assert_true(phx_block_is_all(head, sizeof(head), 0));
	get(b->p->file, SIZE - MIB / 2 + 1000, data, sizeof(data));
	assert_string_equal(data, canary);
}

/* ---- ATA ---- */

static void test_ata_security(void **state)
{
	struct bench *b = *state;
	b->drive.security = true;
	assert_int_equal(wipe(b), 0);
	assert_erased(b, "ATA security erase, reads zero");
	assert_false(b->drive.enabled);
	assert_int_equal(b->drive.last_feature, 0);
}

static void test_ata_enhanced_first(void **state)
{
	struct bench *b = *state;
	b->drive.security = b->drive.enhanced = true;
	assert_int_equal(wipe(b), 0);
	assert_erased(b, "enhanced");
	assert_int_equal(b->drive.last_feature, 2);
}

/* What QEMU's disk does with hdparm: the command aborts, and the tool calls it done. */
static void test_ata_reports_success_and_keeps_data(void **state)
{
	struct bench *b = *state;
	b->drive.security = b->drive.lies = true;
	assert_int_equal(wipe(b), -EUCLEAN);
	assert_false(b->result.verified);
	assert_string_equal(b->result.disk_id, "serial-test-1");
	assert_non_null(strstr(b->result.detail, "old data"));
	assert_text(b->err, "before the erase");
}

static void test_ata_erases_half(void **state)
{
	struct bench *b = *state;
	b->drive.security = b->drive.lies_in_part = true;
	assert_int_equal(wipe(b), -EUCLEAN);
	assert_false(b->result.verified);
}

/* Where the drive was marked it is erased, and what lay behind the mark is there still; the less of
 * it, the harder to see. */
static void test_ata_keeps_what_is_behind_the_mark(void **state)
{
	struct bench *b = *state;
	static const uint32_t spared[] = {MIB - 4096, MIB / 2, 64 * 1024};
	char noise[4096];
	b->drive.security = true;
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)(i * 7 + i / 256);
	for (size_t k = 0; k < sizeof(spared) / sizeof(*spared); k++) {
		for (uint64_t at = 0; at < SIZE; at += sizeof(noise))
			put(b->p->file, at, noise, sizeof(noise));
		b->drive.spares_bytes = spared[k];
		assert_int_equal(wipe(b), -EUCLEAN);
		assert_false(b->result.verified);
	}
	/* and one that leaves other noise has erased */
	b->drive.spares_bytes = 0;
	b->drive.scrambles = true;
	assert_int_equal(wipe(b), 0);
}

/* A lying drive that was blank before: the marks give it away. */
static void test_ata_lies_about_a_blank_disk(void **state)
{
	struct bench *b = *state;
	make_file(b->p->file, SIZE);
	b->drive.security = b->drive.lies = true;
	assert_int_equal(wipe(b), -EUCLEAN);
}

static void test_ata_aborts(void **state)
{
	struct bench *b = *state;
	b->drive.security = b->drive.aborts = true;
	assert_int_equal(wipe(b), -EIO);
	assert_text(b->err, "aborted");
	assert_false(b->drive.enabled); /* no password left behind */
}

static void test_ata_frozen(void **state)
{
	struct bench *b = *state;
	b->drive.security = b->drive.frozen = true;
	assert_int_equal(wipe(b), -EOPNOTSUPP);
	assert_text(b->err, "froze");
	assert_untouched(b);
}

static void test_ata_without_feature(void **state)
{
	struct bench *b = *state;
	assert_int_equal(wipe(b), -EOPNOTSUPP);
	assert_text(b->err, "offers no erase command");
	assert_untouched(b);
}

static void test_ata_foreign_password(void **state)
{
	struct bench *b = *state;
	b->drive.security = b->drive.enabled = b->drive.locked = b->drive.foreign_password = true;
	assert_int_equal(wipe(b), -EACCES);
	assert_text(b->err, "not ours");
	assert_int_equal(b->drive.n_erases, 0);
}

/* Power went away in the middle of an erase (faults.md 28). */
static void test_ata_locked_by_us_is_resumed(void **state)
{
	struct bench *b = *state;
	b->drive.security = b->drive.enabled = b->drive.locked = true;
	assert_int_equal(wipe(b), 0);
	assert_erased(b, "ATA security erase");
	assert_false(b->drive.locked);
}

static void test_ata_password_not_taken(void **state)
{
	struct bench *b = *state;
	b->drive.security = b->drive.ignores_password = true;
	assert_int_equal(wipe(b), -EIO);
	assert_text(b->err, "does not show it");
}

static void test_ata_sanitize_progress(void **state)
{
	struct bench *b = *state;
	b->drive.security = b->drive.san_block = b->drive.san_overwrite = true;
	assert_int_equal(wipe(b), 0);
	assert_erased(b, "ATA sanitize, block erase");
	assert_int_equal(b->drive.last_feature, 0x12);
	assert_int_equal(b->drive.polls, 4);
	assert_int_equal(b->drive.waited_ms, 1500);
}

static void note_progress(void *arg, const struct phx_wipe_progress *p)
{
	uint64_t *last = arg;
	assert_true(p->done_bytes <= p->total_bytes);
	*last = p->done_bytes;
}

static void test_progress_is_told(void **state)
{
	struct bench *b = *state;
	uint64_t last = 0;
	b->drive.san_overwrite = true;
	assert_int_equal(phx_disk_wipe_with(&b->dev, b->p->file, &b->p->facts, &b->order,
					    note_progress, &last, &b->result, &b->err),
			 0);
	assert_int_equal(last, SIZE);
	assert_int_equal(b->drive.last_feature, 0x14);
}

static void test_ata_sanitize_fails(void **state)
{
	struct bench *b = *state;
	b->drive.san_crypto = b->drive.sanitize_fails = true;
	assert_int_equal(wipe(b), -EIO);
	assert_text(b->err, "failed in the drive");
}

static void test_ata_sanitize_stops(void **state)
{
	struct bench *b = *state;
	b->drive.san_crypto = b->drive.sanitize_stops = true;
	assert_int_equal(wipe(b), -EIO);
	assert_text(b->err, "without the drive calling it complete");
}

static void test_ata_sanitize_hangs(void **state)
{
	struct bench *b = *state;
	b->drive.san_block = b->drive.hangs = true;
	assert_int_equal(wipe(b), -ETIMEDOUT);
	assert_true(b->drive.waited_ms >= 4 * 3600 * 1000);
}

static void test_ata_refused_sanitize_falls_to_security(void **state)
{
	struct bench *b = *state;
	b->drive.san_block = b->drive.refuses_sanitize = b->drive.security = true;
	assert_int_equal(wipe(b), 0);
	assert_erased(b, "ATA security erase");
}

static void test_ata_refuses_everything(void **state)
{
	struct bench *b = *state;
	b->drive.san_block = b->drive.san_crypto = b->drive.refuses_sanitize = true;
	assert_int_equal(wipe(b), -EIO);
	assert_text(b->err, "refused every");
}

static void test_scrambled_key_reads_noise(void **state)
{
	struct bench *b = *state;
	char type[32];
	static uint8_t end[MIB];
	b->drive.san_crypto = b->drive.scrambles = true;
	assert_int_equal(wipe(b), 0);
	assert_erased(b, "otherwise than before");
	get(b->p->file, SIZE - MIB, end, MIB);
	assert_true(phx_block_is_all(end, MIB, 0));
	assert_int_equal(phx_signature_read(b->p->file, 0, 0, type, NULL), 0);
	assert_string_equal(type, "");
}

static void test_erased_to_ones(void **state)
{
	struct bench *b = *state;
	b->drive.san_block = true;
	b->drive.pattern = 0xff;
	assert_int_equal(wipe(b), 0);
	assert_erased(b, "otherwise than before");
}

/* ---- NVMe ---- */

static void test_nvme_format(void **state)
{
	struct bench *b = *state;
	b->drive.nvme = b->drive.format = true;
	assert_int_equal(wipe(b), 0);
	assert_erased(b, "NVMe format");
	/* LBA format 3, metadata 0x10, protection 1 << 5 and its place 1 << 8, user data erase 1 <<
	 * 9 */
	assert_int_equal(b->drive.last_cdw10, 0x333);
}

static void test_nvme_format_lies(void **state)
{
	struct bench *b = *state;
	b->drive.nvme = b->drive.format = b->drive.lies = true;
	assert_int_equal(wipe(b), -EUCLEAN);
}

static void test_nvme_format_fails(void **state)
{
	struct bench *b = *state;
	b->drive.nvme = b->drive.format = b->drive.aborts = true;
	assert_int_equal(wipe(b), -EIO);
	assert_text(b->err, "0x10a");
}

static void test_nvme_sanitize(void **state)
{
	struct bench *b = *state;
	b->drive.nvme = b->drive.format = b->drive.san_block = b->drive.san_crypto = true;
	assert_int_equal(wipe(b), 0);
	assert_erased(b, "NVMe sanitize, block erase");
	assert_int_equal(b->drive.last_cdw10, 2);
	assert_int_equal(b->drive.polls, 4);
}

static void test_nvme_sanitize_unsupported_falls_to_format(void **state)
{
	struct bench *b = *state;
	b->drive.nvme = b->drive.format = b->drive.san_block = b->drive.refuses_sanitize = true;
	assert_int_equal(wipe(b), 0);
	assert_erased(b, "NVMe format");
}

static void test_nvme_sanitize_fails(void **state)
{
	struct bench *b = *state;
	b->drive.nvme = b->drive.san_crypto = b->drive.sanitize_fails = true;
	assert_int_equal(wipe(b), -EIO);
	assert_text(b->err, "failed in the drive");
}

static void test_nvme_sanitize_never_begins(void **state)
{
	struct bench *b = *state;
	b->drive.nvme = b->drive.san_block = b->drive.sanitize_stops = true;
	assert_int_equal(wipe(b), -EIO);
	assert_text(b->err, "was never begun by the drive");
}

static void test_nvme_other_namespaces_are_spared(void **state)
{
	struct bench *b = *state;
	b->drive.nvme = b->drive.format = b->drive.format_global = b->drive.san_block = true;
	b->drive.n_namespaces = 2;
	assert_int_equal(wipe(b), -EOPNOTSUPP);
	assert_text(b->err, "namespace");
	assert_untouched(b);
	b->drive.format_global = false;
	assert_int_equal(wipe(b), 0);
	assert_erased(b, "NVMe format");
}

static void test_no_drive_at_all(void **state)
{
	struct bench *b = *state;
	strcpy(b->p->facts.bus, "virtio");
	assert_int_equal(wipe(b), -EOPNOTSUPP);
	assert_untouched(b);
	/* the kernel's ioctls on a plain file */
	strcpy(b->p->facts.bus, "ata");
	assert_true(phx_disk_wipe(b->p->file, &b->p->facts, &b->order, NULL, NULL, &b->result,
				  &b->err) < 0);
	assert_untouched(b);
}

/* ---- what the plan chose, and the drive does not do ---- */

/* The method was chosen for it: one that lies, refuses or fails is erased all the same. */
static void test_chosen_and_not_done(void **state)
{
	struct bench *b = *state;
	static const struct fake_drive bad[] = {
		{.security = true, .lies = true},
		{.security = true, .lies_in_part = true},
		{.security = true, .aborts = true},
		{.security = true, .frozen = true},
		{.san_block = true, .refuses_sanitize = true},
		{.san_block = true, .sanitize_fails = true},
		{.nvme = true, .format = true, .lies = true},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		b->drive = bad[i];
		b->drive.file = b->p->file;
		b->drive.size = SIZE;
		b->drive.n_namespaces = 1;
		b->p->facts.can_discard = i % 2;
		strcpy(b->p->facts.bus, "ata");
		for (uint64_t at = 0; at < SIZE; at += MIB / 2)
			put(b->p->file, at + 1000, canary, sizeof(canary));
		b->order.or_less = false;
		assert_true(wipe(b) < 0);
		b->order.or_less = true;
		b->result = (struct phx_wipe_result){0};
		assert_int_equal(wipe(b), 0);
		assert_int_equal(b->result.method, PHX_WIPE_SECURE_ERASE);
		assert_true(b->result.used == PHX_WIPE_OVERWRITE ||
			    (i % 2 && b->result.used == PHX_WIPE_DISCARD));
		assert_true(phx_str_starts(b->result.tried, "secure-erase: "));
		assert_true(strlen(b->result.tried) > 20);
		assert_true(b->result.verified);
		assert_int_equal(search(b->p->file, canary, sizeof(canary)), -1);
	}
	/* one that does what it says is believed after it was read back, and nothing else tried */
	b->drive = (struct fake_drive){
		.security = true, .file = b->p->file, .size = SIZE, .n_namespaces = 1};
	strcpy(b->p->facts.bus, "ata");
	assert_int_equal(wipe(b), 0);
	assert_int_equal(b->result.used, PHX_WIPE_SECURE_ERASE);
	assert_string_equal(b->result.tried, "");
}

/* All of it: noise says nothing of what was there, zeros do. */
static void test_everything_is_read_back(void **state)
{
	struct bench *b = *state;
	b->order.full = true;
	b->drive.security = true;
	assert_int_equal(wipe(b), 0);
	assert_string_equal(b->result.detail, "ATA security erase, reads zero");
	assert_int_equal(b->result.verified_bytes, SIZE);
	assert_int_equal(b->result.places, SIZE / MIB);
	b->drive.scrambles = true;
	assert_int_equal(wipe(b), 0);
	assert_non_null(strstr(b->result.detail, "zeros written as well"));
	assert_int_equal(b->result.verified_bytes, SIZE);
	uint8_t *all = malloc(SIZE);
	get(b->p->file, 0, all, SIZE);
	assert_true(phx_block_is_all(all, SIZE, 0));
	free(all);
}

/* ---- what the drive hides ---- */

static void test_protected_area_is_opened_and_erased(void **state)
{
	struct bench *b = *state;
	for (int later = 0; later < 2; later++) {
		struct phx_disk_facts d = {.bus = "ata"};
		make_file(b->p->file, SIZE);
		b->drive.security = true;
		b->drive.size = SIZE;
		b->drive.native = SIZE + 24 * MIB;
		b->drive.accessible_max = later;
		b->drive.hides = canary;
		phx_disk_ask_abilities(&b->dev, &d);
		assert_int_equal(d.hidden_bytes, 24 * MIB);
		b->order.method = later ? PHX_WIPE_OVERWRITE : PHX_WIPE_SECURE_ERASE;
		assert_int_equal(wipe(b), 0);
		assert_int_equal(b->result.size_bytes, SIZE + 24 * MIB);
		assert_string_equal(b->result.hidden, "host protected area of 25165824 bytes");
		assert_int_equal(search(b->p->file, canary, strlen(canary)), -1);
		phx_disk_ask_abilities(&b->dev, &d);
		assert_int_equal(d.hidden_bytes, 0);
	}
}

static void refused(struct bench *b, const char *text)
{
	assert_int_equal(wipe(b), -EOPNOTSUPP);
	assert_text(b->err, text);
	b->order.or_less = true; /* nor is it by a lesser method */
	assert_int_equal(wipe(b), -EOPNOTSUPP);
	b->order.or_less = false;
	assert_untouched(b);
}

static void test_protected_area_that_stays_is_refused(void **state)
{
	struct bench *b = *state;
	b->drive.security = b->drive.keeps_hidden = true;
	b->drive.native = SIZE + MIB;
	refused(b, "hides 1048576 bytes in a host protected area");
}

static void test_overlay_is_refused(void **state)
{
	struct bench *b = *state;
	struct phx_disk_facts d = {.bus = "ata"};
	b->drive.security = true;
	b->drive.native = SIZE + MIB;
	b->drive.real = SIZE + 3 * MIB;
	phx_disk_ask_abilities(&b->dev, &d);
	assert_int_equal(d.hidden_bytes, 3 * MIB);
	refused(b, "hides 2097152 bytes by a device configuration overlay");
	assert_int_equal(b->drive.size, SIZE);
	/* firmware that keeps it from being asked is no reason to refuse the disk: it is told */
	b->drive.real = b->drive.native = 0;
	b->drive.mute_overlay = true;
	assert_int_equal(wipe(b), 0);
	assert_string_equal(b->result.hidden, "the drive does not say whether it has an overlay");
}

static void test_namespaces_that_are_off_are_refused(void **state)
{
	struct bench *b = *state;
	struct phx_disk_facts d = {.bus = "nvme"};
	b->drive.nvme = b->drive.format = true;
	b->drive.n_allocated = 3;
	phx_disk_ask_abilities(&b->dev, &d);
	assert_int_equal(d.namespaces, 1);
	assert_int_equal(d.namespaces_off, 2);
	refused(b, "2 namespaces that are not attached");
	b->drive.n_allocated = 1;
	assert_int_equal(wipe(b), 0);
	assert_string_equal(b->result.hidden, "");
}

/* ---- identify ---- */

static void test_abilities(void **state)
{
	struct bench *b = *state;
	struct phx_disk_facts d = {.bus = "ata"};
	b->drive.security = b->drive.san_crypto = true;
	phx_disk_ask_abilities(&b->dev, &d);
	assert_true(d.can_ata_secure_erase && d.can_ata_sanitize && !d.can_nvme_format &&
		    !d.can_nvme_sanitize);
	b->drive.frozen = true;
	d = (struct phx_disk_facts){.bus = "ata"};
	phx_disk_ask_abilities(&b->dev, &d);
	assert_true(!d.can_ata_secure_erase && d.can_ata_sanitize);
	b->drive.nvme = b->drive.format = true;
	d = (struct phx_disk_facts){.bus = "nvme"};
	phx_disk_ask_abilities(&b->dev, &d);
	assert_true(d.can_nvme_format && d.can_nvme_sanitize && !d.can_ata_sanitize);
	b->drive.n_namespaces = 3;
	d = (struct phx_disk_facts){.bus = "nvme"};
	phx_disk_ask_abilities(&b->dev, &d);
	assert_true(d.can_nvme_format && !d.can_nvme_sanitize);
}

static void test_identify_data(void **state)
{
	struct bench *b = *state;
	struct phx_ata_identity id;
	uint8_t page[512];
	b->drive.security = b->drive.enhanced = true;
	fake_ata_identify(&b->drive, page);
	assert_int_equal(phx_ata_decode(page, &id, &b->err), 0);
	assert_int_equal(id.erase_minutes, 10);
	page[200] ^= 1;
	assert_int_equal(phx_ata_decode(page, &id, &b->err), -EBADMSG);
	assert_text(b->err, "checksum");
	memset(page, 0, sizeof(page));
	page[1] = 0x85; /* a packet device: a CD drive */
	assert_int_equal(phx_ata_decode(page, &id, NULL), -EBADMSG);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_ata_security),
		T(test_ata_enhanced_first),
		T(test_ata_reports_success_and_keeps_data),
		T(test_ata_erases_half),
		T(test_ata_keeps_what_is_behind_the_mark),
		T(test_ata_lies_about_a_blank_disk),
		T(test_ata_aborts),
		T(test_ata_frozen),
		T(test_ata_without_feature),
		T(test_ata_foreign_password),
		T(test_ata_locked_by_us_is_resumed),
		T(test_ata_password_not_taken),
		T(test_ata_sanitize_progress),
		T(test_progress_is_told),
		T(test_ata_sanitize_fails),
		T(test_ata_sanitize_stops),
		T(test_ata_sanitize_hangs),
		T(test_ata_refused_sanitize_falls_to_security),
		T(test_ata_refuses_everything),
		T(test_scrambled_key_reads_noise),
		T(test_erased_to_ones),
		T(test_nvme_format),
		T(test_nvme_format_lies),
		T(test_nvme_format_fails),
		T(test_nvme_sanitize),
		T(test_nvme_sanitize_unsupported_falls_to_format),
		T(test_nvme_sanitize_fails),
		T(test_nvme_sanitize_never_begins),
		T(test_nvme_other_namespaces_are_spared),
		T(test_no_drive_at_all),
		T(test_chosen_and_not_done),
		T(test_everything_is_read_back),
		T(test_protected_area_is_opened_and_erased),
		T(test_protected_area_that_stays_is_refused),
		T(test_overlay_is_refused),
		T(test_namespaces_that_are_off_are_refused),
		T(test_abilities),
		T(test_identify_data),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
