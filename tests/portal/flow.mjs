// What the tests of drawing and of runs of workflows share: going to a box by key, what a tab keeps of a drawing, files in and out.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { signIn } from './browser.mjs';

export const api = (path, ...args) => JSON.parse(execFileSync('curl', ['-sS', '--unix-socket', process.env.PHX_SOCKET, `http://unix${path}`, ...args], { encoding: 'utf8' }));
export const work = process.env.PORTAL_WORK;
export const sheet = (page, name = 'Drawing') => page.getByRole('listbox', { name });
export const active = (page) => page.locator('#active-box');
export const fields = (page) => page.getByRole('complementary');
export const right = (page, text) => page.getByRole('status').getByText(text).waitFor();

export async function open(browser, user, item = '') {
	const page = await signIn(browser, user);
	await page.goto(`${page.url().replace(/#.*/, '')}#/workflows${item}`);
	return page;
}

export async function draw(browser, user = 'nobody') {
	const page = await open(browser, user, '/draw');
	await page.getByRole('heading', { name: 'Draw a workflow' }).waitFor();
	return page;
}

export async function walkTo(page, title, name) {
	await sheet(page, name).focus();
	await page.keyboard.press('Home');
	for (let i = 0; i < 12; i++) {
		if (new RegExp(`^((task|file) )?${title},`).test(await active(page).textContent()))
			return;
		await page.keyboard.press('PageDown');
	}
	assert.fail(`the keyboard does not get to ${title}`);
}

// Where a box is on the screen: an enlarger is told so, too.
export async function placeOf(page, title) {
	await walkTo(page, title);
	await page.waitForTimeout(50); // the next frame
	const { x, y } = await active(page).boundingBox();
	return { x, y };
}

export const fill = async (page, name, text) => {
	await fields(page).locator(`[name=${name}]`).fill(text);
	await page.keyboard.press('Tab');
};

// A task by keys alone: made on the sheet, its fields reached by Enter.
export async function taskByKey(page, id, command) {
	await sheet(page).focus();
	await page.keyboard.press('t');
	await page.keyboard.press('Enter');
	await page.waitForFunction(() => document.activeElement?.name === 'id');
	await page.keyboard.press('Control+a');
	await page.keyboard.type(id);
	await page.keyboard.press('Tab');
	await page.keyboard.press('Tab');
	await page.keyboard.type(`/bin/sh\n-c\n${command}`);
	await page.keyboard.press('Tab');
	await active(page).getByText(`task ${id},`).waitFor({ state: 'attached' });
}

export async function connectByKey(page, from, to) {
	await walkTo(page, from);
	await page.keyboard.press('c');
	await walkTo(page, to);
	await page.keyboard.press('Enter');
	await page.getByText(`${from} is connected to ${to}.`).waitFor();
}

// It is kept behind the frame that shows it.
export const kept = (page) => page.evaluate(async () => {
	const frame = () => new Promise((go) => requestAnimationFrame(go));
	await frame();
	await frame();
	await new Promise((go) => setTimeout(go));
	return JSON.parse(Object.entries(sessionStorage).find(([k]) => k.startsWith('phoenix-workflow'))[1]);
});
export const task = (doc, id) => doc.tasks.find((t) => t.id === id);
export const parents = (doc, id) => task(doc, id).parents.map((k) => doc.tasks.find((t) => t.key === k).id).sort();

export async function waitsFor(page, id, ids) {
	for (let i = 0; i < 100 && parents(await kept(page), id).join() !== ids.join(); i++)
		await page.waitForTimeout(20);
	assert.deepEqual(parents(await kept(page), id), ids);
}

export async function exported(page, form) {
	await page.getByLabel('Form of export').selectOption(form);
	const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export' }).click()]);
	return readFileSync(await download.path(), 'utf8');
}

export async function imported(page, name, text) {
	const path = join(work, name);
	writeFileSync(path, text);
	await page.getByLabel('Import').setInputFiles(path);
}

export const conf = `name = "six"; tasks = (
{ id = "a"; cores = 1; command = [ "/bin/sh", "-c", "echo 1 >a.out" ]; outputs = [ "a.out" ]; },
{ id = "b"; cores = 1; command = [ "/bin/sh", "-c", "echo 2 >b.out; echo '<b>said of b</b>'" ]; outputs = [ "b.out" ]; },
{ id = "c"; cores = 1; command = [ "/bin/sh", "-c", "cat a.out b.out >c.out" ]; inputs = [ "a.out", "b.out" ]; outputs = [ "c.out" ]; },
{ id = "d"; cores = 1; retries = 2; when_failed = "hold"; memory = 3000000; time = 61.5; command = [ "true" ]; parents = [ "a" ]; environment = [ "A=b c" ]; },
{ id = "e"; cores = 1; command = [ "true" ]; parents = [ "c" ]; },
{ id = "f"; cores = 1; command = [ "true" ]; parents = [ "d", "e" ]; } );\n`;

export async function submit(page) {
	const before = api('/v1/workflows').workflows.length;
	await page.getByRole('button', { name: 'Submit …' }).click();
	await page.getByRole('dialog').getByRole('button', { name: 'Submit' }).dblclick();
	await page.getByRole('heading', { name: /^Workflow \d+/ }).waitFor();
	assert.equal(api('/v1/workflows').workflows.length, before + 1); // twice is once
	return Number(/\d+$/.exec(page.url())[0]);
}
