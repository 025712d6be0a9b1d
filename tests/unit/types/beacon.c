/* Beacons: what is read of one, what is cut and counted, what is refused with its line, and that
 * what is written is read the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <errno.h>
#include <cmocka.h>

#include "types/beacon.h"

#define HEAD "phoenix-beacon 1\n"
static const char whole[] = HEAD "from init\n"
				 "stage network\n"
				 "up 12\n"
				 "clock 1764380000\n"
				 "memory 2048\n"
				 "kernel 6.1.0-31-amd64\n"
				 "image deploy 1\n"
				 "nic eth0 02:00:00:00:00:01 virtio_net up\n"
				 "nic eth1 02:00:00:00:00:02 - down\n"
				 "pci 8086:1593 020000\n"
				 "disk sda 41943040\n"
				 "address 10.0.0.5/24\n"
				 "lost 3 10\n"
				 "head certificate is not yet valid\n";

static struct phx_beacon read_it(const char *text)
{
	struct phx_beacon b = {0};
	struct phx_err err = {0};
	if (phx_beacon_parse(text, strlen(text), &b, &err) < 0)
		fail_msg("%s", err.text);
	return b;
}

static void all_is_read(void **state)
{
	(void)state;
	struct phx_beacon b = read_it(whole);
	assert_int_equal(b.from, PHX_BEACON_INIT);
	assert_int_equal(b.stage, PHX_BEACON_NETWORK);
	assert_int_equal(b.up_s, 12);
	assert_int_equal(b.clock_s, 1764380000);
	assert_int_equal(b.memory_mib, 2048);
	assert_string_equal(b.kernel, "6.1.0-31-amd64");
	assert_string_equal(b.image, "deploy 1");
	assert_string_equal(b.address, "10.0.0.5/24");
	assert_false(b.reached);
	assert_string_equal(b.head, "certificate is not yet valid");
	assert_int_equal(b.nics.n, 2);
	const struct phx_beacon_nic *nic = PHX_LIST_AT(&b.nics, struct phx_beacon_nic, 0);
	assert_string_equal(nic->dev, "eth0");
	assert_string_equal(nic->mac, "02:00:00:00:00:01");
	assert_string_equal(nic->driver, "virtio_net");
	assert_true(nic->link);
	assert_string_equal(nic[1].driver, "");
	assert_false(nic[1].link);
	const struct phx_beacon_pci *pci = PHX_LIST_AT(&b.pci, struct phx_beacon_pci, 0);
	assert_int_equal(b.pci.n, 1);
	assert_int_equal(pci->vendor, 0x8086);
	assert_int_equal(pci->device, 0x1593);
	assert_int_equal(pci->class_code, 0x020000);
	assert_int_equal(PHX_LIST_AT(&b.disks, struct phx_beacon_disk, 0)->size_kib, 41943040);
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0};
	phx_beacon_format(&b, &text);
	assert_string_equal(text.data, whole);
	phx_record_fini(&phx_beacon_record, &b);
}

static void words_are_told(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{whole,
		 "reached=address from=init stage=network nic_without=8086:1593 "
		 "clock_s=1764380000 memory_mb=2048 loss=3/10 address=10.0.0.5/24 "
		 "head=certificate_is_not_yet_valid kernel=6.1.0-31-amd64 "
		 "nic=eth0,02:00:00:00:00:01,virtio_net,up nic=eth1,02:00:00:00:00:02,-,down "
		 "disk=sda,41943040"},
		{HEAD "from agent\nstage head\nhead reached\n",
		 "reached=head from=agent stage=head"},
		{HEAD "nic a 02:00:00:00:00:01 x up\npci 1000:0001 010400\npci 1000:0002 030000\n",
		 "reached=link from=init stage=modules disk_without=1000:0001 "
		 "device_without=1000:0002 nic=a,02:00:00:00:00:01,x,up"},
		{HEAD "nic a 02:00:00:00:00:01 x down\n",
		 "reached=nic from=init stage=modules nic=a,02:00:00:00:00:01,x,down"},
		/* nobody gets in a word of his own */
		{HEAD "head x reached=head\n",
		 "reached=none from=init stage=modules head=x_reached=head"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		PHX_AUTO(phx_buf_fini) struct phx_buf words = {0};
		struct phx_beacon b = read_it(cases[i].text);
		phx_beacon_words(&b, &words);
		assert_string_equal(words.data, cases[i].words);
		phx_record_fini(&phx_beacon_record, &b);
	}
}

/* What steers a terminal is cut, a NUL too, and a text that is cut ends within no character. */
static void nothing_steers_a_terminal(void **state)
{
	static const char bad[] = HEAD "kernel 6.1\x1b[2J\a\r\nhead \xe2\x80\xae"
				       "evil\0x\xff\n";
	char late[400];
	struct phx_beacon b;
	(void)state;
	assert_int_equal(phx_beacon_parse(bad, sizeof(bad) - 1, &b, NULL), 0);
	assert_string_equal(b.kernel, "6.1?[2J??");
	assert_string_equal(b.head, "???evil?x?");
	phx_record_fini(&phx_beacon_record, &b);
	snprintf(late, sizeof(late), HEAD "head %0198d\xc3\xa9\n", 0);
	b = read_it(late);
	assert_int_equal(strlen(b.head), 199);
	assert_int_equal(b.head[198], '?');
	phx_record_fini(&phx_beacon_record, &b);
}

static void rows_have_a_bound(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0};
	(void)state;
	phx_buf_addf(&text, HEAD);
	for (int i = 0; i < PHX_BEACON_ROWS + 3; i++)
		phx_buf_addf(&text,
			     "disk sd%d 1\nnic e%d 02:00:00:00:00:01 x up\n"
			     "pci 8086:1593 020000\n",
			     i, i);
	struct phx_beacon b = read_it(text.data);
	assert_int_equal(b.disks.n, PHX_BEACON_ROWS);
	assert_int_equal(b.nics.n, PHX_BEACON_ROWS);
	assert_int_equal(b.pci.n, PHX_BEACON_ROWS);
	assert_int_equal(b.more, 9);
	phx_record_fini(&phx_beacon_record, &b);
}

/* A newer image has words that this head does not know. */
static void what_is_newer_is_skipped(void **state)
{
	(void)state;
	struct phx_beacon b = read_it(HEAD "fans 3 spinning\n\nstage agent\nupon 4\n");
	assert_int_equal(b.stage, PHX_BEACON_BEGIN);
	assert_int_equal(b.up_s, 0);
	phx_record_fini(&phx_beacon_record, &b);
}

static void what_is_wrong_has_its_line(void **state)
{
	static const struct {
		const char *text, *line;
	} cases[] = {
		{"", "beacon:1: expected \"phoenix-beacon 1\""},
		{"phoenix-beacon 2\n", "beacon:1:"},
		{HEAD "from\n", "beacon:2: from: expected init or agent"},
		{HEAD "from me\n", "beacon:2: from:"},
		{HEAD "stage late\n", "beacon:2: stage:"},
		{HEAD "up 1\nup -1\n", "beacon:3: up:"},
		{HEAD "clock 99999999999999999999\n", "beacon:2: clock:"},
		{HEAD "memory 1k\n", "beacon:2: memory:"},
		{HEAD "nic eth0 02:00:00:00:00:01 x\n", "beacon:2: nic:"},
		{HEAD "nic eth0 02:00:00:00:00 x up\n", "beacon:2: nic:"},
		{HEAD "nic eth0 02:00:00:00:00:01 x maybe\n", "beacon:2: nic:"},
		{HEAD "pci 8086:1593\n", "beacon:2: pci:"},
		{HEAD "pci 8086-1593 020000\n", "beacon:2: pci:"},
		{HEAD "pci 8086:159g 020000\n", "beacon:2: pci:"},
		{HEAD "pci 8086:1593 02000\n", "beacon:2: pci:"},
		{HEAD "pci 808:61593 020000\n", "beacon:2: pci:"},
		{HEAD "lost 4 3\n", "beacon:2: lost:"},
		{HEAD "lost 0 0\n", "beacon:2: lost:"},
		{HEAD "disk sda\n", "beacon:2: disk:"},
		{HEAD "disk sda big\n", "beacon:2: disk:"},
		{HEAD "address here\n", "beacon:2: address:"},
		{HEAD "address 1.1.1.1/24/24/24/24/24/24/24/24/24\n", "beacon:2: address:"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		struct phx_beacon b = {.up_s = 77};
		struct phx_err err = {0};
		assert_int_equal(phx_beacon_parse(cases[i].text, strlen(cases[i].text), &b, &err),
				 -EINVAL);
		if (!strstr(err.text, cases[i].line))
			fail_msg("%s: %s", cases[i].text, err.text);
		assert_int_equal(b.up_s, 77);
	}
}

static void it_has_a_size(void **state)
{
	char text[PHX_BEACON_MAX + 2];
	struct phx_beacon b;
	struct phx_err err = {0};
	(void)state;
	memset(text, '\n', sizeof(text));
	memcpy(text, HEAD, strlen(HEAD));
	assert_int_equal(phx_beacon_parse(text, PHX_BEACON_MAX + 1, &b, &err), -EFBIG);
	assert_non_null(strstr(err.text, "4096"));
	assert_int_equal(phx_beacon_parse(text, PHX_BEACON_MAX, &b, NULL), 0);
	phx_record_fini(&phx_beacon_record, &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_read),
		cmocka_unit_test(words_are_told),
		cmocka_unit_test(nothing_steers_a_terminal),
		cmocka_unit_test(rows_have_a_bound),
		cmocka_unit_test(what_is_newer_is_skipped),
		cmocka_unit_test(what_is_wrong_has_its_line),
		cmocka_unit_test(it_has_a_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
