// A real Chromium (Debian's) for the tests of the portal: pages of people who sign in by links, pictures, checks of accessibility.
// Its own files are below $PORTAL_WORK; it asks nothing of any network but the head on loopback.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const build = resolve(process.env.BUILD);
const need = createRequire(join(build, 'npm', 'x.js'));
const { chromium } = need('playwright-core');
const axe = readFileSync(need.resolve('axe-core/axe.min.js'), 'utf8');
const pictures = join(build, 'portal', 'pictures');

export async function launch() {
	mkdirSync(pictures, { recursive: true });
	// root runs the tests, and Chromium's sandbox wants another user; what it shows is our own page
	const sandbox = process.getuid() === 0 ? ['--no-sandbox'] : [];
	return chromium.launch({ executablePath: '/usr/bin/chromium', args: [...sandbox, '--disable-dev-shm-usage', '--disable-gpu', '--no-first-run'] });
}

// The link that this user of the head is given.
export function linkOf(user) {
	return execFileSync('setpriv', [`--reuid=${user}`, `--regid=${user === 'nobody' ? 'nogroup' : user}`, '--init-groups', join(build, 'bin', 'phx'), 'portal'],
		{ encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

// A browser of its own, with what went wrong in its pages as `page.wrong`.
export async function newPage(browser, options = {}) {
	const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 }, ...options });
	const page = await context.newPage();
	page.wrong = [];
	page.setDefaultTimeout(30000);
	page.on('pageerror', (error) => page.wrong.push(String(error)));
	page.on('console', (said) => said.type() === 'error' && page.wrong.push(said.text()));
	page.on('request', (asked) => new URL(asked.url()).hostname !== 'localhost' && page.wrong.push(`asks ${asked.url()}`));
	return page;
}

export async function signIn(browser, user, options) {
	const page = await newPage(browser, options);
	await page.goto(linkOf(user));
	await page.getByRole('button', { name: `Sign in as unix:${user}` }).click();
	await page.getByRole('navigation').waitFor();
	return page;
}

// The page as it is, light and dark.
export async function picture(page, name) {
	for (const scheme of ['light', 'dark']) {
		await page.emulateMedia({ colorScheme: scheme });
		await page.screenshot({ path: join(pictures, `${name}-${scheme}.png`) });
	}
	await page.emulateMedia({ colorScheme: 'light' });
}

// What axe finds, light and dark: nothing. A dialog that is open is walked through by the keyboard, too.
export async function accessible(page) {
	const found = [];
	for (const scheme of ['light', 'dark']) {
		await page.emulateMedia({ colorScheme: scheme });
		// by the debugger: no rule for pages keeps it out, and none has to be loosened
		await page.evaluate(axe);
		const { violations } = await page.evaluate(() => globalThis.axe.run());
		for (const v of violations)
			found.push(`${scheme}: ${v.id}: ${v.help}: ${v.nodes.map((n) => n.html.slice(0, 120)).join(' | ')}`);
	}
	await page.emulateMedia({ colorScheme: 'light' });
	if (found.length)
		throw new Error(found.join('\n'));
	if (await page.locator('dialog:modal').count())
		await walk(page);
}

// In the page: what can be used now, by Tab. Of radio buttons with one name one is; behind a dialog nothing is.
function usable() {
	const within = [...document.querySelectorAll('dialog:modal')].at(-1) ?? document;
	const all = [...within.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')];
	globalThis.walked = all.filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility({ checkVisibilityCSS: true }) && !e.classList.contains('skip')
		&& !(e.type === 'radio' && !e.checked && all.some((o) => o !== e && o.type === 'radio' && o.name === e.name && (o.checked || all.indexOf(o) < all.indexOf(e)))));
	document.activeElement?.blur();
	return globalThis.walked.map((e) => e.outerHTML.slice(0, 120));
}

function focused() {
	const e = document.activeElement;
	const name = e.getAttribute('aria-label') ?? (e.getAttribute('aria-labelledby') ?? '').split(' ').map((id) => document.getElementById(id)?.textContent).join(' ').trim();
	const { outlineStyle, boxShadow } = getComputedStyle(e);
	return { at: globalThis.walked.indexOf(e), name: name || e.labels?.[0]?.textContent || e.textContent || e.title || e.placeholder || '', seen: outlineStyle !== 'none' || boxShadow !== 'none' };
}

// Walks the page with the Tab key: everything that can be used is reached, has a name, and shows that it has the focus. The names, in order.
export async function walk(page) {
	const wanted = await page.evaluate(usable);
	const names = new Map();
	const wrong = [];
	for (let i = 0; names.size < wanted.length && i < 2 * wanted.length + 10; i++) {
		await page.keyboard.press('Tab');
		const { at, name, seen } = await page.evaluate(focused);
		if (at < 0 || names.has(at))
			continue;
		names.set(at, name.trim());
		if (!name.trim())
			wrong.push(`it has no name: ${wanted[at]}`);
		if (!seen)
			wrong.push(`its focus is not seen: ${wanted[at]}`);
	}
	wanted.forEach((html, i) => names.has(i) || wrong.push(`the Tab key does not get to it: ${html}`));
	if (wrong.length)
		throw new Error(wrong.join('\n'));
	return [...names.values()];
}
