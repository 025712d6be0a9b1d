/* See power_button.h. The kernel tells of a new input device on a netlink socket, so that nobody
 * looks for one again and again. */
#include "agent/power_button.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/log.h"
#include "base/file.h"
#include "base/sysfs.h"

enum { BUTTONS_MAX = 8, NEWS_MAX = 8192, NEWS_OF_THE_KERNEL = 1 };
/* of both that a board may have, a device in its tables and a fixed one; keyboards have a key of
 * that meaning, too, and another name */
#define BUTTON_NAME "Power Button"

struct button {
	struct power_button *all;
	char dev[32]; /* "event3" */
	int fd;       /* -1: none */
	sd_event_source *source;
};

struct power_button {
	struct power_button_config c;
	int news;
	sd_event_source *news_source;
	struct button buttons[BUTTONS_MAX];
};

static void forget(struct button *b)
{
	loop_forget(b->all->c.loop, &b->source);
	phx_close_fd(&b->fd);
}

/* One that is gone answers with an error, and comes again by the kernel's news. */
static void pressed(void *button)
{
	struct button *b = button;
	struct input_event e;
	ssize_t n;
	while ((n = read(b->fd, &e, sizeof(e))) == (ssize_t)sizeof(e))
		if (e.type == EV_KEY && e.code == KEY_POWER && e.value == 1)
			b->all->c.pressed(b->all->c.arg);
	if (n < 0 && errno == EAGAIN)
		loop_watch_again(b->all->c.loop, b->source);
	else
		forget(b);
}

static void listen_to(struct button *b, const char *dev)
{
	const char *root = b->all->c.root;
	PHX_AUTO_FREE char *path = phx_path("%s/dev/input/%s", root, dev);
	PHX_STR_SET(b->dev, dev);
	b->fd = path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	int r = b->fd < 0 ? -errno : loop_watch(b->all->c.loop, b->fd, pressed, b, &b->source);
	if (r < 0) {
		agent_log("the power button %s cannot be heard: %s", dev, strerror(-r));
		forget(b);
	}
}

static bool is_button(const char *root, const char *dev)
{
	char name[64];
	return phx_str_starts(dev, "event") &&
		phx_sys_text(root, name, sizeof(name), "sys/class/input/%s/device/name", dev) >=
		0 &&
		!strcmp(name, BUTTON_NAME);
}

static void look_at(struct power_button *p, const char *dev)
{
	struct button *room = NULL;
	for (size_t i = 0; i < BUTTONS_MAX; i++) {
		struct button *b = &p->buttons[i];
		if (b->fd >= 0 && !strcmp(b->dev, dev))
			return;
		room = room || b->fd >= 0 ? room : b;
	}
	if (room && is_button(p->c.root, dev))
		listen_to(room, dev);
}

uint32_t power_button_look(struct power_button *p)
{
	PHX_AUTO_FREE char *path = phx_path("%s/sys/class/input", p->c.root);
	DIR *dir = path ? opendir(path) : NULL;
	uint32_t n = 0;
	for (struct dirent *e; dir && (e = readdir(dir));)
		look_at(p, e->d_name);
	if (dir)
		closedir(dir);
	for (size_t i = 0; i < BUTTONS_MAX; i++)
		n += p->buttons[i].fd >= 0;
	return n;
}

/* "add@/devices/.../input/input3/event3", then NAME=VALUE, each ended by a NUL. The text ahead of
 * the first NUL says enough. */
static void hear_news(void *power_button)
{
	struct power_button *p = power_button;
	char text[NEWS_MAX];
	bool input = false;
	ssize_t n;
	while ((n = recv(p->news, text, sizeof(text) - 1, MSG_DONTWAIT)) > 0) {
		text[n] = 0;
		input |= phx_str_starts(text, "add@") && strstr(text, "/input/") != NULL;
	}
	/* some were lost */
	input |= n < 0 && errno == ENOBUFS;
	if (input)
		power_button_look(p);
	loop_watch_again(p->c.loop, p->news_source);
}

static int open_news(void)
{
	const struct sockaddr_nl from = {.nl_family = AF_NETLINK, .nl_groups = NEWS_OF_THE_KERNEL};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	if (fd >= 0 && bind(fd, (const struct sockaddr *)&from, sizeof(from)) < 0)
		phx_close_fd(&fd);
	return fd;
}

int power_button_new(const struct power_button_config *config, struct power_button **ret)
{
	struct power_button *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->c = *config;
	for (size_t i = 0; i < BUTTONS_MAX; i++)
		p->buttons[i] = (struct button){.all = p, .fd = -1};
	p->news = open_news();
	if (p->news < 0)
		agent_log("a power button whose driver comes late is not heard: %s",
			  strerror(errno));
	LOOP_HELD(p->c.loop);
	int r = p->news < 0 ? 0 : loop_watch(p->c.loop, p->news, hear_news, p, &p->news_source);
	if (r < 0) {
		power_button_free(p);
		return r;
	}
	power_button_look(p); /* behind the news, of which none is lost so */
	*ret = p;
	return 0;
}

void power_button_free(struct power_button *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < BUTTONS_MAX; i++)
		forget(&p->buttons[i]);
	loop_forget(p->c.loop, &p->news_source);
	phx_close_fd(&p->news);
	free(p);
}
