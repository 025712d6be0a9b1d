/* See beacon.h. Nothing that comes back is read: whoever answers is nobody that the agent knows. */
#include "agent/beacon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/utf8.h"
#include "inventory/inventory.h"
#include "types/beacon.h"
#include "types/pci.h"

enum { EVERY_MS = 30000, CALL_MS = 2000 };

static int add_nics(struct phx_beacon *b, const struct phx_facts *f)
{
	PHX_LIST_EACH(struct phx_nic_facts, nic, &f->nics) {
		struct phx_beacon_nic *row =
			b->nics.n < PHX_BEACON_ROWS ? phx_list_push(&b->nics, sizeof(*row)) : NULL;
		if (!row)
			return -ENOMEM;
		PHX_STR_SET(row->dev, nic->dev);
		PHX_STR_SET(row->mac, nic->mac);
		PHX_STR_SET(row->driver, nic->driver);
		row->link = nic->link;
	}
	return 0;
}

static int add_pci(struct phx_beacon *b, const struct phx_facts *f)
{
	PHX_LIST_EACH(struct phx_pci_facts, d, &f->pci) {
		if (d->driver[0] || !phx_pci_kind(d))
			continue;
		struct phx_beacon_pci *row =
			b->pci.n < PHX_BEACON_ROWS ? phx_list_push(&b->pci, sizeof(*row)) : NULL;
		if (!row)
			return -ENOMEM;
		*row = (struct phx_beacon_pci){d->vendor, d->device, d->class_code};
	}
	return 0;
}

static int add_disks(struct phx_beacon *b, const struct phx_facts *f)
{
	PHX_LIST_EACH(struct phx_disk_facts, disk, &f->disks) {
		struct phx_beacon_disk *row = b->disks.n < PHX_BEACON_ROWS
			? phx_list_push(&b->disks, sizeof(*row))
			: NULL;
		if (!row)
			return -ENOMEM;
		PHX_STR_SET(row->dev, disk->dev[0] ? disk->dev : "disk");
		row->size_kib = disk->size_bytes >> 10;
	}
	return 0;
}

/* Lists that are too long stay cut: the rest of the beacon says enough. */
static void add_facts(struct agent *a, struct phx_beacon *b, char ret_mac[PHX_MAC_MAX])
{
	LOOP_HELD(a->loop);
	const struct phx_facts *f = &a->facts;
	b->memory_mib = f->memory_bytes >> 20;
	add_nics(b, f);
	add_pci(b, f);
	add_disks(b, f);
	PHX_LIST_EACH(struct phx_nic_facts, nic, &f->nics)
		if (!ret_mac[0] || nic->link)
			phx_str_copy(ret_mac, PHX_MAC_MAX, nic->mac);
}

/* One line of what may be any text. */
static void set_head(struct phx_beacon *b, const char *text)
{
	snprintf(b->head, sizeof(b->head), "%s", text);
	phx_utf8_repair(b->head);
	for (char *p = b->head; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	if (!strcmp(b->head, "reached"))
		b->head[0] = '\0';
}

static void send_to(const char *http, const char *mac, const struct phx_beacon *b)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0};
	PHX_AUTO_FREE char *url = phx_path("http://%s", http);
	PHX_AUTO_FREE char *path = phx_path("/beacon/%s", mac);
	const struct phx_http_client_config config = {.base_url = url,
						      .connect_timeout_ms = CALL_MS};
	struct phx_http_response response = {0};
	struct phx_http_client *c = NULL;
	phx_beacon_format(b, &text);
	if (url && path && !text.failed && phx_http_client_new(&config, &c, NULL) == 0)
		phx_http_call_text(c, path, text.data, CALL_MS, &response, NULL);
	phx_http_response_fini(&response);
	phx_http_client_free(c);
}

void beacon_trouble(struct agent *a, const struct phx_err *err)
{
	struct phx_beacon b = {.from = PHX_BEACON_AGENT, .stage = PHX_BEACON_HEAD};
	char mac[PHX_MAC_MAX] = "";
	struct utsname u;
	int64_t now = phx_clock_boot_ms();
	if (!a->cfg.beacon[0] || now < a->beacon_due_ms)
		return;
	a->beacon_due_ms = now + EVERY_MS;
	b.up_s = (uint64_t)now / 1000;
	b.clock_s = (uint64_t)phx_wall_ms() / 1000;
	if (uname(&u) == 0)
		PHX_STR_SET(b.kernel, u.release);
	add_facts(a, &b, mac);
	set_head(&b, err->text);
	if (mac[0])
		send_to(a->cfg.beacon, mac, &b);
	phx_record_fini(&phx_beacon_record, &b);
}
