/* The power button: which of a machine's input devices it is, and what is heard of it. Devices are
 * a directory that looks like /sys, and FIFOs. */
#include "unit/agent/scratch.h"

#include <fcntl.h>
#include <linux/input.h>
#include <sys/stat.h>

#include "agent/power_button.h"

struct world {
	struct scratch *s;
	struct loop *loop;
	struct power_button *button;
	uint32_t n_pressed; /* held */
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	void *s = NULL;
	assert_int_equal(scratch_setup(&s), 0);
	w->s = s;
	w->loop = loop_started();
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	void *s = w->s;
	loop_hold(w->loop);
	power_button_free(w->button);
	loop_release(w->loop);
	loop_free(w->loop);
	free(w);
	return scratch_teardown(&s);
}

static void on_press(void *world)
{
	struct world *w = world;
	w->n_pressed++;
	loop_news(w->loop);
}

/* Returns the end that the machine writes to. */
static int device(const struct world *w, const char *dev, const char *name)
{
	char path[64];
	snprintf(path, sizeof(path), "sys/class/input/%s/device", dev);
	assert_int_equal(phx_dir_make(scratch_path(w->s, path), 0755, NULL), 0);
	strcat(path, "/name");
	write_text(scratch_path(w->s, path), name, 0644);
	assert_int_equal(phx_dir_make(scratch_path(w->s, "dev/input"), 0755, NULL), 0);
	snprintf(path, sizeof(path), "dev/input/%s", dev);
	assert_int_equal(mkfifo(scratch_path(w->s, path), 0600), 0);
	int fd = open(scratch_path(w->s, path), O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void put(int fd, int type, int code, int value)
{
	const struct input_event e = {
		.type = (uint16_t)type, .code = (uint16_t)code, .value = value};
	assert_int_equal(write(fd, &e, sizeof(e)), sizeof(e));
}

static void press(int fd)
{
	put(fd, EV_KEY, KEY_POWER, 1);
	put(fd, EV_SYN, SYN_REPORT, 0);
	put(fd, EV_KEY, KEY_POWER, 0);
}

static void begin(struct world *w)
{
	const struct power_button_config c = {
		.loop = w->loop, .root = w->s->dir, .pressed = on_press, .arg = w};
	assert_int_equal(power_button_new(&c, &w->button), 0);
}

static void await_pressed(struct world *w, uint32_t n)
{
	int64_t end_ms = phx_clock_ms() + 10000;
	loop_hold(w->loop);
	while (w->n_pressed < n && phx_clock_ms() < end_ms)
		loop_wait(w->loop, end_ms);
	uint32_t pressed = w->n_pressed;
	loop_release(w->loop); /* what fails below leaves nothing held that would never end */
	assert_int_equal(pressed, n);
}

static uint32_t look(struct world *w)
{
	LOOP_HELD(w->loop);
	return power_button_look(w->button);
}

/* Other keys, and what keyboards say, switch nothing off; releasing the button neither. */
static void test_pressed(void **state)
{
	struct world *w = *state;
	int button = device(w, "event1", "Power Button\n");
	int keyboard = device(w, "event0", "AT Translated Set 2 keyboard\n");
	int mouse = device(w, "mouse0", "Power Button\n");
	begin(w);
	press(keyboard);
	press(mouse);
	put(button, EV_KEY, KEY_SLEEP, 1);
	press(button);
	await_pressed(w, 1);
	press(button);
	await_pressed(w, 2);
	phx_sleep_ms(50);
	await_pressed(w, 2);
	close(button);
	close(keyboard);
	close(mouse);
}

/* A device that goes is forgotten, and heard when it is there again; nothing is heard twice. */
static void test_comes_and_goes(void **state)
{
	struct world *w = *state;
	begin(w);
	assert_int_equal(look(w), 0);
	int fd = device(w, "event4", "Power Button\n");
	assert_int_equal(look(w), 1);
	assert_int_equal(look(w), 1);
	press(fd);
	await_pressed(w, 1);
	press(fd);
	close(fd); /* a FIFO that nobody writes to is at its end */
	await_pressed(w, 2);
	int64_t end_ms = phx_clock_ms() + 10000;
	unlink(scratch_path(w->s, "dev/input/event4"));
	while (look(w) > 0 && phx_clock_ms() < end_ms)
		phx_sleep_ms(20);
	assert_int_equal(look(w), 0);
	assert_int_equal(mkfifo(scratch_path(w->s, "dev/input/event4"), 0600), 0);
	fd = open(scratch_path(w->s, "dev/input/event4"), O_RDWR | O_CLOEXEC);
	assert_int_equal(look(w), 1);
	press(fd);
	await_pressed(w, 3);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pressed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_comes_and_goes, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
