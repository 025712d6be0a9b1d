/* Each row of why.def by its evidence: it is named, no other row is shown beside it, and its
 * sentence has what the evidence says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>

#include "why/evidence.h"

#define T0 (INT64_C(1795867200) * 1000000) /* 12:00:00 UTC */

enum { ROWS = 14 };

struct seen {
	int at_s;
	enum phx_start_kind kind;
	const char *text;
	uint64_t bytes, total;
	bool claim;
};

struct golden {
	enum phx_why_cause cause;
	int now_s;
	struct phx_why_node node;
	struct seen rows[ROWS];
	const char *says; /* in its sentence */
};

/* clang-format off: rows */
#define NODE(...) \
	{ \
		.node = "n1", __VA_ARGS__ \
	}
/* Up to the files, the kernel's start, the agent. */
#define ON \
	{.at_s = 0, .kind = PHX_START_power_asked, .text = "on"}, \
	{ \
		.at_s = 1, .kind = PHX_START_power_done, .text = "on" \
	}
#define ADDRESS \
	{.at_s = 2, .kind = PHX_START_pxe_asked, .text = "52:54:00:00:00:01"}, \
		{.at_s = 2, .kind = PHX_START_dhcp_offered, .text = "10.0.0.9"}, \
	{ \
		.at_s = 2, .kind = PHX_START_dhcp_acked, .text = "10.0.0.9" \
	}
#define SCRIPT \
	{.at_s = 4, .kind = PHX_START_script_asked, .text = ""}, \
	{ \
		.at_s = 4, .kind = PHX_START_script_answered, .text = "deploy 1" \
	}
#define FILES \
	{.at_s = 5, .kind = PHX_START_file_sent, .text = "vmlinuz", 10, 10}, \
	{ \
		.at_s = 6, .kind = PHX_START_files_whole, .text = "" \
	}
#define BOOTED ON, SCRIPT, FILES
#define HELLO \
	BOOTED, {.at_s = 20, .kind = PHX_START_enrol_asked, .text = ""}, \
	{ \
		.at_s = 21, .kind = PHX_START_hello, .text = "" \
	}
#define CLAIM(at, kind_, text_) \
	{ \
		.at_s = at, .kind = PHX_START_##kind_, .text = text_, .claim = true \
	}
/* clang-format on */

static const struct golden cases[] = {
	{PHX_WHY_bmc_password,
	 5,
	 NODE(),
	 {{.at_s = 0, .kind = PHX_START_power_asked, .text = "on"},
	  {.at_s = 2,
	   .kind = PHX_START_power_failed,
	   .text = "on: the BMC refuses the password",
	   EACCES}},
	 "refuses the password"},
	{PHX_WHY_bmc_silent,
	 5,
	 NODE(),
	 {{.at_s = 0, .kind = PHX_START_power_asked, .text = "on"},
	  {.at_s = 2,
	   .kind = PHX_START_power_failed,
	   .text = "on: the BMC did not answer within 2000 ms",
	   EHOSTUNREACH}},
	 "12:00:02 UTC"},
	{PHX_WHY_power_failed,
	 5,
	 NODE(),
	 {{.at_s = 0, .kind = PHX_START_power_asked, .text = "on"},
	  {.at_s = 2,
	   .kind = PHX_START_power_failed,
	   .text = "was not seen on in time: the BMC reports 'off'",
	   ETIMEDOUT}},
	 "was not seen on"},
	/* whoever asks again has failed once before */
	{PHX_WHY_within,
	 9,
	 NODE(),
	 {{.at_s = 0, .kind = PHX_START_power_failed, .text = "x", EACCES},
	  {.at_s = 5, .kind = PHX_START_power_asked, .text = "on"},
	  {.at_s = 6, .kind = PHX_START_power_done, .text = "on"}},
	 "firmware starts"},
	/* its time runs from when it was switched on at last */
	{PHX_WHY_within,
	 605,
	 NODE(),
	 {{.at_s = 0, .kind = PHX_START_power_asked, .text = "on"},
	  {.at_s = 2, .kind = PHX_START_power_failed, .text = "x", EACCES},
	  {.at_s = 600, .kind = PHX_START_power_asked, .text = "on"},
	  {.at_s = 601, .kind = PHX_START_power_done, .text = "on"}},
	 "for 176 s more"},
	{PHX_WHY_dhcp_silent, 200, NODE(), {ON}, "no DHCP request of it reached the head"},
	{PHX_WHY_within, 20, NODE(), {ON}, "for 161 s more"},
	/* the site may have slow firmware, or a fast lab */
	{PHX_WHY_dhcp_silent, 20, NODE(.patience_percent = 10), {ON}, "no DHCP request"},
	{PHX_WHY_within, 200, NODE(.patience_percent = 300), {ON}, "for 341 s more"},
	{PHX_WHY_dhcp_down, 20, NODE(.dhcp_down = "exit status 2"), {{0}}, "exit status 2"},
	{PHX_WHY_dhcp_down, 20, NODE(.dhcp_down = "exit status 2"), {ON}, "exit status 2"},
	{PHX_WHY_dhcp_other,
	 5,
	 NODE(),
	 {ON,
	  {.at_s = 2, .kind = PHX_START_pxe_asked, .text = ""},
	  {.at_s = 2, .kind = PHX_START_dhcp_offered, .text = "10.0.0.9"},
	  {.at_s = 3, .kind = PHX_START_dhcp_other, .text = "192.168.1.7, wrong server-ID"}},
	 "192.168.1.7"},
	{PHX_WHY_dhcp_refused,
	 5,
	 NODE(),
	 {ON,
	  {.at_s = 2, .kind = PHX_START_pxe_asked, .text = ""},
	  {.at_s = 2, .kind = PHX_START_dhcp_refused, .text = "no address available"}},
	 "no address available"},
	{PHX_WHY_dhcp_untaken,
	 60,
	 NODE(),
	 {ON,
	  {.at_s = 2, .kind = PHX_START_pxe_asked, .text = ""},
	  {.at_s = 2, .kind = PHX_START_dhcp_offered, .text = "10.0.0.9"}},
	 "did not take it"},
	{PHX_WHY_tftp_blocked,
	 80,
	 NODE(),
	 {ON, ADDRESS, {.at_s = 2, .kind = PHX_START_tftp_asked, .text = "undionly.kpxe"}},
	 "does not pass; its request came"},
	{PHX_WHY_tftp_blocked, 80, NODE(), {ON, ADDRESS}, "12:00:02 UTC"},
	{PHX_WHY_tftp_refused,
	 80,
	 NODE(),
	 {ON,
	  ADDRESS,
	  {.at_s = 2, .kind = PHX_START_tftp_asked, .text = "pxelinux.0"},
	  {.at_s = 2, .kind = PHX_START_tftp_failed, .text = "File not found", ENOENT}},
	 "File not found"},
	/* it asked for another one then */
	{PHX_WHY_tftp_blocked,
	 80,
	 NODE(),
	 {ON,
	  ADDRESS,
	  {.at_s = 2, .kind = PHX_START_tftp_failed, .text = "File not found", ENOENT},
	  {.at_s = 3, .kind = PHX_START_tftp_asked, .text = "undionly.kpxe"}},
	 "its request came"},
	/* broken off by the firmware itself */
	{PHX_WHY_tftp_blocked,
	 80,
	 NODE(),
	 {ON, ADDRESS, {.at_s = 2, .kind = PHX_START_tftp_failed, .text = "error 8 TFTP aborted"}},
	 "does not pass"},
	{PHX_WHY_script_refused,
	 6,
	 NODE(),
	 {ON,
	  ADDRESS,
	  {.at_s = 4, .kind = PHX_START_script_asked, .text = ""},
	  {.at_s = 4,
	   .kind = PHX_START_script_refused,
	   .text = "there is no image 'deploy'",
	   ENOENT}},
	 "no image 'deploy'"},
	{PHX_WHY_head_blocked,
	 90,
	 NODE(),
	 {ON,
	  ADDRESS,
	  {.at_s = 3, .kind = PHX_START_tftp_sent, .text = "undionly.kpxe"},
	  {.at_s = 4, .kind = PHX_START_ipxe_asked, .text = ""},
	  {.at_s = 4, .kind = PHX_START_dhcp_acked, .text = "10.0.0.9"}},
	 "firewall"},
	{PHX_WHY_head_blocked,
	 90,
	 NODE(),
	 {ON,
	  {.at_s = 2, .kind = PHX_START_pxe_asked, .text = ""},
	  {.at_s = 2, .kind = PHX_START_ipxe_asked, .text = ""},
	  {.at_s = 2, .kind = PHX_START_dhcp_acked, .text = "10.0.0.9"}},
	 "firewall"},
	{PHX_WHY_file_refused,
	 8,
	 NODE(),
	 {ON,
	  SCRIPT,
	  {.at_s = 5,
	   .kind = PHX_START_file_refused,
	   .text = "images/deploy/1/initrd: no such file",
	   ENOENT}},
	 "initrd: no such file"},
	{PHX_WHY_file_cut,
	 8,
	 NODE(),
	 {ON,
	  SCRIPT,
	  {.at_s = 5, .kind = PHX_START_file_sent, .text = "vmlinuz", 10, 10},
	  {.at_s = 6,
	   .kind = PHX_START_file_cut,
	   .text = "images/deploy/1/initrd.zst",
	   1048576,
	   44000000}},
	 "initrd.zst broke off at 1048576 of 44000000 bytes (12:00:06 UTC)"},
	{PHX_WHY_files_unasked, 300, NODE(), {ON, SCRIPT}, "12:00:04 UTC"},
	{PHX_WHY_loss,
	 100,
	 NODE(),
	 {ON,
	  SCRIPT,
	  {.at_s = 60, .kind = PHX_START_file_cut, .text = "initrd.zst", 7, 44},
	  {.at_s = 60, .kind = PHX_START_loss, .text = "912 of 1840 packets had to be sent again"}},
	 "912 of 1840"},
	{PHX_WHY_clock,
	 40,
	 NODE(),
	 {BOOTED,
	  CLAIM(12, beacon, "reached=address clock_s=2427019200 head=certificate_has_expired")},
	 "7304 days later"},
	{PHX_WHY_clock,
	 200,
	 NODE(),
	 {BOOTED, CLAIM(12, beacon, "reached=address clock_s=1480334400")},
	 "3652 days earlier"},
	/* certificates have no beginning: until it says that the head is not reached nothing is
	 * wrong */
	{PHX_WHY_within,
	 40,
	 NODE(),
	 {BOOTED, CLAIM(12, beacon, "reached=head clock_s=1480334400")},
	 "its kernel starts"},
	{PHX_WHY_nic_driver,
	 40,
	 NODE(),
	 {BOOTED, CLAIM(12, console, "phoenix: reached=none nic_without=8086:1593")},
	 "8086:1593"},
	/* as a real kernel in 96 MiB says it, by way of the marks of consoles */
	{PHX_WHY_memory,
	 40,
	 NODE(),
	 {BOOTED,
	  CLAIM(8, console,
		"the kernel stopped: [    1.946974] Kernel panic - not syncing: System is "
		"deadlocked on memory")},
	 "deadlocked on memory"},
	{PHX_WHY_nic_driver,
	 40,
	 NODE(),
	 {BOOTED,
	  CLAIM(35, console,
		"a network card has no driver: phoenix: [28.72] reached=none "
		"nic_without=8086:100e")},
	 "8086:100e"},
	{PHX_WHY_init_dies,
	 40,
	 NODE(),
	 {BOOTED,
	  CLAIM(12, console, "[    1.9] Kernel panic - not syncing: Attempted to kill init!")},
	 "Attempted to kill init!"},
	/* a new deploy environment is on its way */
	{PHX_WHY_init_dies,
	 60,
	 NODE(.step = "kexec", .step_deadline_us = T0 + 100000000),
	 {HELLO,
	  {.at_s = 30, .kind = PHX_START_step_began, .text = "kexec"},
	  CLAIM(40, console, "Kernel panic - not syncing: No working init found.")},
	 "No working init found"},
	{PHX_WHY_role_init_dies,
	 60,
	 NODE(.state = PHX_NODE_DEPLOYING, .step = "enter", .step_deadline_us = T0 + 100000000),
	 {HELLO,
	  {.at_s = 30, .kind = PHX_START_step_began, .text = "enter"},
	  CLAIM(40, console,
		"Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100")},
	 "Attempted to kill init!"},
	/* the head has given up: it is still that, and not that the step failed */
	{PHX_WHY_role_init_dies,
	 600,
	 NODE(.state = PHX_NODE_QUARANTINED, .reason = "enter: x"),
	 {HELLO,
	  {.at_s = 30, .kind = PHX_START_step_began, .text = "enter"},
	  CLAIM(40, console,
		"Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100"),
	  {.at_s = 400, .kind = PHX_START_step_failed, .text = "enter: no answer", ETIMEDOUT}},
	 "Attempted to kill init!"},
	/* a panic of before the agent came says nothing of the system of the role */
	{PHX_WHY_step_runs,
	 60,
	 NODE(.state = PHX_NODE_DEPLOYING, .up = true, .step = "enter",
	      .step_deadline_us = T0 + 100000000),
	 {BOOTED,
	  CLAIM(12, console, "Kernel panic - not syncing: Attempted to kill init!"),
	  {.at_s = 20, .kind = PHX_START_enrol_asked, .text = ""},
	  {.at_s = 21, .kind = PHX_START_hello, .text = ""},
	  {.at_s = 30, .kind = PHX_START_step_began, .text = "enter"}},
	 "step enter"},
	{PHX_WHY_kernel_silent, 130, NODE(), {BOOTED}, "fetched whole at 12:00:06 UTC"},
	/* a claim from before the files says nothing of their kernel */
	{PHX_WHY_kernel_silent,
	 130,
	 NODE(),
	 {ON, SCRIPT, CLAIM(4, beacon, "nic_without=8086:1593"), FILES},
	 "nothing came after"},
	{PHX_WHY_cert_revoked,
	 40,
	 NODE(),
	 {HELLO,
	  {.at_s = 30,
	   .kind = PHX_START_tls_refused,
	   .text = "this certificate is not the node's present one"}},
	 "present one"},
	{PHX_WHY_cert_dates,
	 40,
	 NODE(),
	 {HELLO,
	  {.at_s = 30,
	   .kind = PHX_START_tls_refused,
	   .text = "from 10.77.0.5: it is valid no more since 2026-01-01 00:00:00 UTC"}},
	 "valid no more"},
	{PHX_WHY_enrol_refused,
	 40,
	 NODE(),
	 {BOOTED,
	  {.at_s = 20, .kind = PHX_START_enrol_asked, .text = ""},
	  {.at_s = 20,
	   .kind = PHX_START_enrol_refused,
	   .text = "another key is the node's",
	   EACCES}},
	 "another key"},
	/* its firmware was faster than the head: the agent asks again, with the token */
	{PHX_WHY_within,
	 25,
	 NODE(.state = PHX_NODE_READY),
	 {
		 BOOTED,
		 CLAIM(12, beacon, "reached=link head=timeout"),
		 {.at_s = 20, .kind = PHX_START_enrol_asked, .text = ""},
		 {.at_s = 20,
		  .kind = PHX_START_enrol_refused,
		  .text = "it comes without its key, and does not show the token of its last start",
		  EACCES},
	 },
	 "its agent reaches the head"},
	{PHX_WHY_enrol_refused,
	 31,
	 NODE(.state = PHX_NODE_READY),
	 {
		 BOOTED,
		 CLAIM(12, beacon, "reached=link head=timeout"),
		 {.at_s = 20, .kind = PHX_START_enrol_asked, .text = ""},
		 {.at_s = 20,
		  .kind = PHX_START_enrol_refused,
		  .text = "it comes without its key, and does not show the token of its last start",
		  EACCES},
		 {.at_s = 30, .kind = PHX_START_enrol_asked, .text = ""},
		 {.at_s = 30,
		  .kind = PHX_START_enrol_refused,
		  .text = "it comes without its key, and does not show the token of its last start",
		  EACCES},
	 },
	 "the token"},
	{PHX_WHY_enrol_refused,
	 41,
	 NODE(.state = PHX_NODE_READY),
	 {
		 BOOTED,
		 CLAIM(12, beacon, "reached=link head=timeout"),
		 {.at_s = 20, .kind = PHX_START_enrol_asked, .text = ""},
		 {.at_s = 20,
		  .kind = PHX_START_enrol_refused,
		  .text = "it comes without its key, and does not show the token of its last start",
		  EACCES},
	 },
	 "the token"},
	{PHX_WHY_unaccepted,
	 40,
	 NODE(.state = PHX_NODE_NEW),
	 {BOOTED, {.at_s = 20, .kind = PHX_START_enrol_asked, .text = ""}},
	 "12:00:20 UTC"},
	{PHX_WHY_enrol_blocked,
	 40,
	 NODE(.state = PHX_NODE_READY),
	 {BOOTED, CLAIM(12, beacon, "reached=address head=timeout")},
	 "timeout"},
	{PHX_WHY_disk_full,
	 60,
	 NODE(.state = PHX_NODE_QUARANTINED, .reason = "image: x"),
	 {HELLO,
	  {.at_s = 30, .kind = PHX_START_step_began, .text = "image"},
	  {.at_s = 40,
	   .kind = PHX_START_step_failed,
	   .text = "image: No space left on device",
	   ENOSPC}},
	 "No space left"},
	{PHX_WHY_step_memory,
	 60,
	 NODE(.state = PHX_NODE_DEPLOYING),
	 {HELLO,
	  {.at_s = 40,
	   .kind = PHX_START_step_failed,
	   .text = "ram: the image needs 2 GiB",
	   ENOMEM}},
	 "the image needs"},
	{PHX_WHY_service,
	 60,
	 NODE(.state = PHX_NODE_QUARANTINED, .reason = "health: x"),
	 {HELLO,
	  {.at_s = 40,
	   .kind = PHX_START_step_failed,
	   .text = "health: not healthy: 127.0.0.1:80: Connection refused",
	   ETIMEDOUT}},
	 "Connection refused"},
	{PHX_WHY_service,
	 90,
	 NODE(.state = PHX_NODE_ACTIVE, .up = true),
	 {HELLO,
	  {.at_s = 40, .kind = PHX_START_active, .text = ""},
	  {.at_s = 50,
	   .kind = PHX_START_service_failed,
	   .text = "web: nginx ended, exit status 1"}},
	 "nginx ended"},
	{PHX_WHY_disk_driver,
	 60,
	 NODE(.state = PHX_NODE_QUARANTINED, .reason = "x"),
	 {HELLO,
	  CLAIM(22, beacon, "reached=head disk_without=1000:0097"),
	  {.at_s = 40,
	   .kind = PHX_START_step_failed,
	   .text = "image: the node has no disk",
	   ENODEV}},
	 "1000:0097"},
	/* nobody orders it a step that wants a disk; one that serves wants none */
	{PHX_WHY_disk_driver,
	 60,
	 NODE(.state = PHX_NODE_READY, .up = true, .disk_without = "8086:2922"),
	 {HELLO},
	 "8086:2922"},
	{PHX_WHY_disk_driver,
	 60,
	 NODE(.state = PHX_NODE_QUARANTINED, .up = true, .reason = "no disk",
	      .disk_without = "8086:2922"),
	 {HELLO},
	 "8086:2922"},
	{PHX_WHY_nothing,
	 60,
	 NODE(.state = PHX_NODE_ACTIVE, .up = true, .disk_without = "8086:2922"),
	 {HELLO},
	 "it is active"},
	{PHX_WHY_unknown,
	 60,
	 NODE(.state = PHX_NODE_READY, .disk_without = "8086:2922"),
	 {{0}},
	 "no start"},
	{PHX_WHY_step_failed,
	 60,
	 NODE(.state = PHX_NODE_QUARANTINED, .reason = "x"),
	 {HELLO,
	  {.at_s = 40, .kind = PHX_START_step_failed, .text = "wipe: read-back differs", EIO}},
	 "read-back differs"},
	/* what a beacon says decides nothing where a step has told what is wrong */
	{PHX_WHY_disk_full,
	 60,
	 NODE(.state = PHX_NODE_QUARANTINED, .reason = "x"),
	 {HELLO,
	  CLAIM(22, beacon, "disk_without=1000:0097 nic_without=1:2 panic=out of memory clock_s=5"),
	  {.at_s = 40,
	   .kind = PHX_START_step_failed,
	   .text = "image: No space left on device",
	   ENOSPC}},
	 "No space left"},
	{PHX_WHY_file_cut,
	 8,
	 NODE(),
	 {ON,
	  SCRIPT,
	  {.at_s = 6, .kind = PHX_START_file_cut, .text = "initrd.zst", 1, 4},
	  CLAIM(7, beacon, "nic_without=1:2 clock_s=5 head=timeout")},
	 "initrd.zst"},
	{PHX_WHY_quarantined,
	 60,
	 NODE(.state = PHX_NODE_QUARANTINED, .reason = "by hand"),
	 {{0}},
	 "by hand"},
	{PHX_WHY_missing,
	 90,
	 NODE(.state = PHX_NODE_ACTIVE, .missing_since_us = T0 + 80000000),
	 {HELLO, {.at_s = 40, .kind = PHX_START_active, .text = ""}},
	 "12:01:20 UTC"},
	{PHX_WHY_overdue,
	 60,
	 NODE(),
	 {ON, {.at_s = 2, .kind = PHX_START_dhcp_asked, .text = ""}},
	 "an address"},
	{PHX_WHY_overdue,
	 600,
	 NODE(.state = PHX_NODE_DEPLOYING, .step = "image", .step_deadline_us = T0 + 500000000),
	 {HELLO},
	 "carries out steps"},
	{PHX_WHY_step_runs,
	 60,
	 NODE(.state = PHX_NODE_DEPLOYING, .up = true, .step = "image",
	      .step_deadline_us = T0 + 500000000),
	 {HELLO},
	 "step image, for 440 s more"},
	{PHX_WHY_unknown, 60, NODE(.state = PHX_NODE_NEW), {{0}}, "no start"},
	{PHX_WHY_nothing,
	 60,
	 NODE(.state = PHX_NODE_ACTIVE, .up = true),
	 {HELLO, {.at_s = 40, .kind = PHX_START_active, .text = ""}},
	 "it is active"},
	/* what went wrong on the way and was mended is past; and nobody forges a cause of a node
	 * that serves */
	{PHX_WHY_nothing,
	 60,
	 NODE(.state = PHX_NODE_ACTIVE, .up = true),
	 {ON,
	  {.at_s = 2, .kind = PHX_START_power_failed, .text = "x", EACCES},
	  {.at_s = 4, .kind = PHX_START_script_refused, .text = "x"},
	  FILES,
	  {.at_s = 21, .kind = PHX_START_hello, .text = ""},
	  {.at_s = 40, .kind = PHX_START_active, .text = ""},
	  CLAIM(50, beacon, "nic_without=1:2 clock_s=5 panic=x"),
	  CLAIM(51, console, "Kernel panic - x")},
	 "nothing is wrong"},
};

static void gather(struct phx_why *w, const struct golden *g)
{
	phx_why_begin(w, &g->node, T0 + (int64_t)g->now_s * 1000000);
	for (int i = 0; i < ROWS && g->rows[i].text; i++) {
		const struct seen *s = &g->rows[i];
		struct phx_start_row row = {.kind = (int)s->kind,
					    .at_us = T0 + (int64_t)s->at_s * 1000000,
					    .proven = !s->claim,
					    .bytes = s->bytes,
					    .total = s->total};
		PHX_STR_SET(row.text, s->text);
		phx_why_take(w, &row);
	}
}

static void each_names_its_cause_and_no_other(void **state)
{
	struct phx_why w;
	struct phx_why_verdict v;
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		const char *wanted = phx_enum_name(&phx_why_cause_names, (int)cases[i].cause);
		gather(&w, &cases[i]);
		phx_why_judge(&w, &v);
		if (v.cause != (int)cases[i].cause || !strstr(v.text, cases[i].says))
			fail_msg("case %zu, %s: %s \"%s\"", i, wanted,
				 phx_enum_name(&phx_why_cause_names, v.cause), v.text);
		assert_null(strchr(v.text, '@'));
		assert_null(strchr(v.act, '@'));
		assert_int_equal(v.wrong, v.act[0] && v.cause != PHX_WHY_unknown);
		for (int c = 0; c < PHX_WHY_COUNT_; c++)
			if (c != v.cause && why_show(&w, (enum phx_why_cause)c))
				fail_msg("case %zu, %s: %s is shown, too", i, wanted,
					 phx_enum_name(&phx_why_cause_names, c));
	}
}

static void each_row_has_a_case(void **state)
{
	(void)state;
	for (int c = 0; c < PHX_WHY_COUNT_; c++) {
		size_t n = 0;
		for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++)
			n += (int)cases[i].cause == c;
		if (!n)
			fail_msg("%s has no case", phx_enum_name(&phx_why_cause_names, c));
	}
}

/* Nothing that a stranger sends names a cause that is said to be proven. */
static void claims_alone_prove_nothing(void **state)
{
	static const char text[] =
		"phoenix: reached=head head=refused nic_without=1:2 disk_without=3:4 "
		"clock_s=5 panic=Kernel panic";
	struct phx_why w;
	struct phx_why_verdict before, after;
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++)
		for (int kind = 0; kind < PHX_START_KIND_COUNT_; kind++) {
			struct phx_start_row row = {.kind = kind, .at_us = T0 + 1000000};
			gather(&w, &cases[i]);
			phx_why_judge(&w, &before);
			PHX_STR_SET(row.text, text);
			phx_why_take(&w, &row);
			phx_why_judge(&w, &after);
			if (after.cause != before.cause && after.proven &&
			    after.cause != PHX_WHY_enrol_blocked)
				fail_msg("case %zu: a claim of kind %d makes %s of %s", i, kind,
					 phx_enum_name(&phx_why_cause_names, after.cause),
					 phx_enum_name(&phx_why_cause_names, before.cause));
		}
}

/* Of what was not today it is told how long ago it was. */
static void days_are_told_where_they_differ(void **state)
{
	static const struct {
		int now_s;
		const char *says;
	} rows[] = {{43199, "(12:00:02 UTC)"},
		    {43200, "(12:00:02 UTC, 1 day ago)"},
		    {3 * 86400, "(12:00:02 UTC, 3 days ago)"}};
	struct phx_why w;
	struct phx_why_verdict v;
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct golden g = cases[1]; /* of a BMC that is silent */
		g.now_s = rows[i].now_s;
		gather(&w, &g);
		phx_why_judge(&w, &v);
		assert_int_equal(v.cause, PHX_WHY_bmc_silent);
		if (!strstr(v.text, rows[i].says))
			fail_msg("%s: %s", rows[i].says, v.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_names_its_cause_and_no_other),
		cmocka_unit_test(each_row_has_a_case),
		cmocka_unit_test(claims_alone_prove_nothing),
		cmocka_unit_test(days_are_told_where_they_differ),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
