/* lab.conf into a struct lab, and the lab as it was made in LABS/NAME/lab.json,
 * which the other `phx lab` commands work on. Called by main.c. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/ip.h"
#include "base/record_file.h"
#include "base/nodeset.h"
#include "config/conf.h"
#include "phx-lab/lab.h"

enum { LAB_JSON_MAX = 1 << 20, MIB = 1 << 20, MEMORY_MIN_MIB = 128 };

void lab_fini(struct lab *lab)
{
	phx_record_fini(&lab_record, lab);
}

const char *lab_netns(const struct lab *lab, char buf[LAB_NAME_MAX + 8])
{
	snprintf(buf, LAB_NAME_MAX + 8, "%s%s", lab->netns[0] ? "" : "phx-",
		 lab->netns[0] ? lab->netns : lab->name);
	return buf;
}

struct lab_machine *lab_machine_find(const struct lab *lab, const char *name)
{
	PHX_LIST_EACH(struct lab_machine, m, &lab->machines)
		if (!strcmp(m->name, name))
			return m;
	return NULL;
}

char *lab_machine_path(const struct lab *lab, const struct lab_machine *m, const char *file)
{
	return phx_path("%s/machines/%s/%s", lab->dir, m->name, file);
}

/* ---- what the file leaves out ---- */

/* The /24 as a number. */
static int network_of(const char *subnet, uint32_t *ret_net, struct phx_err *err)
{
	struct phx_ipv4_net net;
	uint32_t address;
	if (!phx_ipv4_net_parse(subnet, &net, &address) || net.prefix != 24 || address != net.base)
		return phx_err_set(err, -EINVAL,
				   "subnet = \"%s\" must be a network like \"10.77.0.0/24\"",
				   subnet);
	*ret_net = net.base;
	return 0;
}

void lab_address(const char *subnet, uint32_t host, char ret[16])
{
	uint32_t net = 0;
	network_of(subnet, &net, NULL);
	phx_ipv4_format(net | host, ret);
}

const struct lab_network *lab_network_find(const struct lab *lab, const char *name)
{
	PHX_LIST_EACH(struct lab_network, n, &lab->networks)
		if (!strcmp(n->name, name))
			return n;
	return NULL;
}

/* A byte that differs between labs, so that MACs and UUIDs do. */
static unsigned lab_byte(const struct lab *lab)
{
	unsigned h = 5381;
	for (const char *p = lab->name; *p; p++)
		h = h * 33 + (unsigned char)*p;
	return h & 0xff;
}

static void complete_disk(const struct lab_machine *m, uint32_t i, struct lab_disk *d)
{
	if (!d->serial[0])
		snprintf(d->serial, sizeof(d->serial), "%.12s-D%u", m->name, i);
	if (!d->size_bytes)
		d->size_bytes = 2048ULL * MIB;
}

/* Addresses, MAC, serial number and UUID follow from the lab and the index. */
static void complete_machine(const struct lab *lab, struct lab_machine *m)
{
	unsigned byte = lab_byte(lab), card = 0;
	const struct lab_network *boot = lab_network_find(lab, m->network);
	if (!m->mac[0])
		snprintf(m->mac, sizeof(m->mac), "52:54:00:77:%02x:%02x", byte, m->index + 1);
	if (!m->serial[0])
		snprintf(m->serial, sizeof(m->serial), "PHX-%.20s-%.30s", lab->name, m->name);
	if (!m->uuid[0])
		snprintf(m->uuid, sizeof(m->uuid), "70687800-6c61-4000-8000-0000%04x%04x", byte,
			 m->index + 1);
	PHX_LIST_EACH(struct lab_card, c, &m->nics) {
		card++;
		if (!c->mac[0])
			snprintf(c->mac, sizeof(c->mac), "52:54:%02x:77:%02x:%02x", card, byte,
				 m->index + 1);
	}
	lab_address(boot ? boot->subnet : lab->subnet, LAB_HOST_NODES + 1 + m->index, m->ip);
	if (m->bmc)
		lab_address(lab->subnet, LAB_HOST_BMCS + 1 + m->index, m->bmc_ip);
	uint32_t i = 0;
	PHX_LIST_EACH(struct lab_disk, d, &m->disks)
		complete_disk(m, i++, d);
}

/* ---- reading ---- */

static int read_disk(const struct phx_conf *c, const config_setting_t *s, struct lab_disk *d,
		     struct phx_err *err)
{
	int r = phx_conf_group(c, s, &lab_disk_record, d, err);
	if (r == 0 && (d->size_bytes < 16 * MIB || d->size_bytes % 4096))
		r = phx_conf_fail(c, s, -EINVAL, err,
				  "size must be at least 16 MiB and a multiple of 4096");
	if (r == 0 && strpbrk(d->serial, ", ="))
		r = phx_conf_fail(c, s, -EINVAL, err, "serial must not hold a blank, ',' or '='");
	if (r == 0 && d->wwn[0] &&
	    (strlen(d->wwn) != 18 || strspn(d->wwn + 2, "0123456789abcdef") != 16))
		r = phx_conf_fail(c, s, -EINVAL, err,
				  "wwn must be \"0x\" and 16 small hexadecimal digits");
	return r;
}

static int read_disks(const struct phx_conf *c, const config_setting_t *group,
		      struct lab_machine *m, struct phx_err *err)
{
	config_setting_t *list;
	int r = phx_conf_list(c, group, "disks", &list, err);
	int n = r == 0 && list ? config_setting_length(list) : 0;
	if (n > LAB_DISKS_MAX)
		return phx_conf_fail(c, list, -EINVAL, err, "more than %d disks", LAB_DISKS_MAX);
	for (int i = 0; r == 0 && i < n; i++) {
		struct lab_disk *d = phx_list_push(&m->disks, sizeof(*d));
		r = d ? read_disk(c, config_setting_get_elem(list, (unsigned)i), d, err) : -ENOMEM;
		if (r == 0 && d->bus == LAB_DISK_IDE && m->firmware == LAB_UEFI)
			r = phx_conf_fail(c, list, -EINVAL, err,
					  "the UEFI machine has no IDE; use bus = \"ahci\"");
	}
	return r;
}

/* ---- networks ---- */

static int check_network(const struct phx_conf *c, const config_setting_t *s, const struct lab *lab,
			 const struct lab_network *n, struct phx_err *err)
{
	struct phx_err why = {0};
	uint32_t net;
	if (network_of(n->subnet, &net, &why) < 0)
		return phx_conf_fail(c, s, -EINVAL, err, "%s", why.text);
	if (!strcmp(n->subnet, lab->subnet) || !strcmp(n->name, "boot"))
		return phx_conf_fail(c, s, -EINVAL, err,
				     "the name boot and the subnet %s are those of the lab's own "
				     "network",
				     lab->subnet);
	for (const struct lab_network *b = lab->networks.items; b < n; b++)
		if (!strcmp(b->name, n->name) || !strcmp(b->subnet, n->subnet))
			return phx_conf_fail(c, s, -EINVAL, err,
					     "networks %s and %s have the same name or subnet",
					     b->name, n->name);
	return 0;
}

static int read_networks(const struct phx_conf *c, const config_setting_t *root, struct lab *lab,
			 struct phx_err *err)
{
	config_setting_t *list;
	int r = phx_conf_list(c, root, "networks", &list, err);
	int count = r == 0 && list ? config_setting_length(list) : 0;
	if (count > LAB_NETWORKS_MAX)
		return phx_conf_fail(c, list, -EINVAL, err, "more than %d networks",
				     LAB_NETWORKS_MAX);
	for (int i = 0; r == 0 && i < count; i++) {
		const config_setting_t *s = config_setting_get_elem(list, (unsigned)i);
		struct lab_network *n = phx_list_push(&lab->networks, sizeof(*n));
		r = n ? phx_conf_group(c, s, &lab_network_record, n, err) : -ENOMEM;
		r = r ? r : check_network(c, s, lab, n, err);
	}
	return r;
}

static int read_card(const struct phx_conf *c, const config_setting_t *s, struct lab_card *card,
		     struct phx_err *err)
{
	char mac[PHX_MAC_MAX];
	int r = phx_conf_group(c, s, &lab_card_record, card, err);
	if (r < 0 || !card->mac[0])
		return r;
	if (phx_mac_parse(card->mac, mac) < 0)
		return phx_conf_fail(c, s, -EINVAL, err, "mac = \"%s\" is no MAC address",
				     card->mac);
	PHX_STR_SET(card->mac, mac);
	return 0;
}

static int read_cards(const struct phx_conf *c, const config_setting_t *group,
		      struct lab_machine *m, struct phx_err *err)
{
	config_setting_t *list;
	int r = phx_conf_list(c, group, "nics", &list, err);
	int n = r == 0 && list ? config_setting_length(list) : 0;
	if (n > LAB_CARDS_MAX)
		return phx_conf_fail(c, list, -EINVAL, err, "more than %d further cards",
				     LAB_CARDS_MAX);
	for (int i = 0; r == 0 && i < n; i++) {
		struct lab_card *card = phx_list_push(&m->nics, sizeof(*card));
		r = card ? read_card(c, config_setting_get_elem(list, (unsigned)i), card, err)
			 : -ENOMEM;
	}
	return r;
}

/* Its networks must be there, and it must boot over the one of its first card. */
static int check_cards(const struct phx_conf *c, const config_setting_t *s, const struct lab *lab,
		       const struct lab_machine *m, struct phx_err *err)
{
	const struct lab_network *boot = lab_network_find(lab, m->network);
	if (m->network[0] && (!boot || !(boot->relay || boot->boot)))
		return phx_conf_fail(c, s, -EINVAL, err,
				     "network = \"%s\" is none of `networks` with relay or boot: "
				     "nothing boots there",
				     m->network);
	PHX_LIST_EACH(struct lab_card, card, &m->nics)
		if (card->network[0] && !lab_network_find(lab, card->network))
			return phx_conf_fail(c, s, -EINVAL, err,
					     "nics: there is no network '%s' in `networks`",
					     card->network);
	return 0;
}

static int check_share(const struct phx_conf *c, const config_setting_t *s,
		       const struct lab_machine *m, struct phx_err *err)
{
	struct stat st;
	if (!m->share[0])
		return 0;
	/* QEMU takes what follows a comma for another word */
	if (m->share[0] != '/' || strchr(m->share, ','))
		return phx_conf_fail(c, s, -EINVAL, err,
				     "share must be an absolute path without a comma");
	if (stat(m->share, &st) < 0 || !S_ISDIR(st.st_mode))
		return phx_conf_fail(c, s, -EINVAL, err, "share = \"%s\" is no directory here",
				     m->share);
	return 0;
}

static int read_machine(const struct phx_conf *c, const config_setting_t *s, struct lab_machine *m,
			struct phx_err *err)
{
	int r = phx_conf_group(c, s, &lab_machine_record, m, err);
	char mac[PHX_MAC_MAX];
	if (r == 0 && m->mac[0] && phx_mac_parse(m->mac, mac) < 0)
		return phx_conf_fail(c, s, -EINVAL, err, "mac = \"%s\" is no MAC address", m->mac);
	if (r == 0 && m->mac[0])
		PHX_STR_SET(m->mac, mac);
	if (r == 0 && (m->memory_bytes < MEMORY_MIN_MIB * (uint64_t)MIB || m->memory_bytes % MIB))
		r = phx_conf_fail(c, s, -EINVAL, err,
				  "memory must be at least %d MiB, in whole MiB", MEMORY_MIN_MIB);
	if (r == 0)
		r = check_share(c, s, m, err);
	r = r ? r : read_cards(c, s, m, err);
	return r < 0 ? r : read_disks(c, s, m, err);
}

static int check_unique(const struct phx_conf *c, const config_setting_t *s, const struct lab *lab,
			struct phx_err *err)
{
	PHX_LIST_EACH(struct lab_machine, a, &lab->machines)
		for (struct lab_machine *b = a + 1; b < a_end_; b++) {
			if (!strcmp(a->name, b->name))
				return phx_conf_fail(c, s, -EINVAL, err,
						     "two machines are called '%s'", a->name);
			if (!strcmp(a->mac, b->mac))
				return phx_conf_fail(c, s, -EINVAL, err,
						     "%s and %s have the same MAC %s", a->name,
						     b->name, a->mac);
		}
	return 0;
}

static int read_machines(const struct phx_conf *c, const config_setting_t *root, struct lab *lab,
			 struct phx_err *err)
{
	config_setting_t *list;
	int r = phx_conf_list(c, root, "machines", &list, err);
	if (r < 0)
		return r;
	int n = list ? config_setting_length(list) : 0;
	if (n < 1 || n > LAB_MACHINES_MAX)
		return phx_conf_fail(c, list ? list : root, -EINVAL, err,
				     "machines must list 1 to %d machines", LAB_MACHINES_MAX);
	for (int i = 0; r == 0 && i < n; i++) {
		struct lab_machine *m = phx_list_push(&lab->machines, sizeof(*m));
		if (!m)
			return -ENOMEM;
		m->index = (uint32_t)i;
		const config_setting_t *s = config_setting_get_elem(list, (unsigned)i);
		r = read_machine(c, s, m, err);
		r = r ? r : check_cards(c, s, lab, m, err);
		if (r == 0)
			complete_machine(lab, m);
	}
	return r < 0 ? r : check_unique(c, list, lab, err);
}

static int read_lab(const struct phx_conf *c, const char *name, struct lab *lab,
		    struct phx_err *err)
{
	const config_setting_t *root = config_root_setting(&c->cfg);
	int r = phx_conf_group(c, root, &lab_record, lab, err);
	if (r == 0 && name && (!phx_name_valid(name) || PHX_STR_SET(lab->name, name) < 0))
		r = phx_err_set(err, -EINVAL,
				"'%s' is no name of a lab: at most %d letters, digits, '-'", name,
				LAB_NAME_MAX - 1);
	uint32_t net;
	if (r == 0)
		r = network_of(lab->subnet, &net, err);
	r = r ? r : read_networks(c, root, lab, err);
	return r < 0 ? r : read_machines(c, root, lab, err);
}

int lab_conf_load(const char *path, const char *name, struct lab *ret, struct phx_err *err)
{
	PHX_AUTO(phx_conf_fini) struct phx_conf c = {0};
	struct lab lab = {0};
	int r = phx_conf_read(path, &c, err);
	if (r == 0)
		r = read_lab(&c, name, &lab, err);
	if (r < 0) {
		lab_fini(&lab);
		return r;
	}
	*ret = lab;
	return 0;
}

/* ---- one more machine ---- */

static uint32_t free_index(const struct lab *lab)
{
	for (uint32_t i = 0; i < LAB_MACHINES_MAX; i++) {
		bool taken = false;
		PHX_LIST_EACH(struct lab_machine, m, &lab->machines)
			taken |= m->index == i;
		if (!taken)
			return i;
	}
	return LAB_MACHINES_MAX;
}

static int add_one(struct lab *lab, const char *name, const struct lab_machine *like,
		   struct phx_err *err)
{
	uint32_t index = free_index(lab);
	if (lab_machine_find(lab, name))
		return phx_err_set(err, -EEXIST, "there is a machine '%s' already", name);
	if (!phx_name_valid(name))
		return phx_err_set(err, -EINVAL, "'%s' is no name of a machine", name);
	if (index == LAB_MACHINES_MAX)
		return phx_err_set(err, -E2BIG, "a lab has at most %d machines", LAB_MACHINES_MAX);
	struct lab_machine m;
	int r = phx_record_copy(&lab_machine_record, &m, like);
	if (r < 0)
		return r;
	PHX_STR_SET(m.name, name);
	m.index = index;
	m.mac[0] = m.serial[0] = m.uuid[0] = '\0';
	PHX_LIST_EACH(struct lab_card, c, &m.nics)
		c->mac[0] = '\0';
	PHX_LIST_EACH(struct lab_disk, d, &m.disks)
		d->serial[0] = d->wwn[0] = '\0';
	complete_machine(lab, &m);
	struct lab_machine *place = phx_list_push(&lab->machines, sizeof(m));
	if (!place)
		phx_record_fini(&lab_machine_record, &m);
	else
		*place = m;
	return place ? 0 : -ENOMEM;
}

int lab_conf_add(struct lab *lab, const struct phx_nodeset *names, const struct lab_machine *like,
		 struct phx_err *err)
{
	struct lab_machine model;
	int r = phx_record_copy(&lab_machine_record, &model, like); /* the list may move */
	if (r < 0)
		return r;
	for (uint32_t i = 0; r == 0 && i < names->n; i++)
		r = add_one(lab, names->names[i], &model, err);
	phx_record_fini(&lab_machine_record, &model);
	return r;
}

/* ---- the lab as it was made ---- */

int lab_save(const struct lab *lab, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/lab.json", lab->dir);
	return phx_record_file_write(path, &lab_record, lab, 0644, err);
}

/* Is there a lab in this directory of labs? */
static int is_lab(const struct dirent *e)
{
	return e->d_name[0] != '.' && phx_name_valid(e->d_name);
}

int lab_only(const char *labs_dir, char ret_name[LAB_NAME_MAX], struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf names = {0};
	struct dirent **all = NULL;
	char last[LAB_NAME_MAX] = "";
	uint32_t n = 0;
	int found = scandir(labs_dir, &all, is_lab, alphasort);
	for (int i = 0; i < found; i++) {
		PHX_AUTO_FREE char *json = phx_path("%s/%s/lab.json", labs_dir, all[i]->d_name);
		if (json && access(json, F_OK) == 0 && PHX_STR_SET(last, all[i]->d_name) == 0) {
			phx_buf_addf(&names, "%s%s", n ? ", " : "", last);
			n++;
		}
		free(all[i]);
	}
	free(all);
	if (n == 0)
		return phx_err_set(err, -ENOENT, "there is no lab in %s; make one with: phx lab up",
				   labs_dir);
	if (n > 1)
		return phx_err_set(err, -EINVAL, "which lab? In %s there are %s: say --name",
				   labs_dir, names.data);
	return phx_str_copy(ret_name, LAB_NAME_MAX, last);
}

int lab_load(const char *labs_dir, const char *name, struct lab *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s/lab.json", labs_dir, name);
	struct phx_err why = {0};
	int r = phx_record_file_read(path, LAB_JSON_MAX, &lab_record, ret, &why);
	if (r == -ENOENT)
		return phx_err_set(err, r, "there is no lab '%s' in %s; make it with: phx lab up",
				   name, labs_dir);
	return r < 0 ? phx_err_set(err, r, "%s", why.text) : 0;
}
