// The jobs' page: one is submitted, seen, and ended; each sees his own.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { accessible, picture, signIn } from './browser.mjs';

const api = (path, ...args) => JSON.parse(execFileSync('curl', ['-sS', '--unix-socket', process.env.PHX_SOCKET, `http://unix${path}`, ...args], { encoding: 'utf8' }));

async function open(browser, user) {
	const page = await signIn(browser, user);
	await page.getByRole('link', { name: 'Jobs' }).click();
	await page.getByRole('heading', { name: 'Jobs' }).waitFor();
	return page;
}

export const tests = {
	async 'a job is submitted, seen waiting with its reason, and cancelled'(browser) {
		const page = await open(browser, 'daemon');
		await page.getByText('There are no jobs that you may see').waitFor();
		await page.getByRole('button', { name: 'Submit a job' }).click();
		await page.getByLabel('Name').fill('first');
		await page.getByLabel('Program').fill('#!/bin/sh\necho <b>written</b>\n');
		await page.getByLabel('hold it back').check();
		await accessible(page);
		await picture(page, 'job-form');
		await page.getByRole('button', { name: 'Submit', exact: true }).dblclick();
		const job = page.getByRole('complementary');
		await job.getByText('queued').first().waitFor();
		const id = Number((await job.getByRole('heading', { level: 2 }).textContent()).replace('Job ', ''));
		assert.equal(api(`/v1/jobs/${id}`).user, 'daemon');
		assert.equal(api('/v1/jobs').jobs.filter((j) => j.user === 'daemon').length, 1); // twice is once
		await page.getByRole('cell', { name: 'queued' }).waitFor();
		await accessible(page);
		await picture(page, 'jobs');
		await job.getByRole('button', { name: 'Cancel it' }).click();
		await job.getByText('cancelled').first().waitFor();
		await page.getByRole('cell', { name: 'cancelled' }).waitFor();
		await page.goBack();
		await page.goForward();
		await page.reload();
		await job.getByText('cancelled').first().waitFor();
		assert.deepEqual(page.wrong, []);
	},

	async 'what the head refuses is said, and nothing is lost of the form'(browser) {
		const page = await open(browser, 'daemon');
		await page.getByRole('button', { name: 'Submit a job' }).click();
		await page.getByLabel('Program').fill('no program');
		await page.getByRole('button', { name: 'Submit', exact: true }).click();
		await page.getByRole('alert').waitFor();
		assert.equal(await page.getByLabel('Program').inputValue(), 'no program');
	},

	async 'one who may not see a job is told nothing of it'(browser) {
		const { id } = api('/v1/jobs', '-d', '{"argv": ["secret-of-root"], "hold": true}');
		const page = await open(browser, 'nobody');
		await page.getByText('There are no jobs that you may see').waitFor();
		await page.goto(`${page.url().replace(/#.*/, '')}#/jobs/${id}`);
		await page.getByRole('alert').waitFor();
		assert.ok(!(await page.locator('main').textContent()).includes('secret-of-root'));
	},
};
