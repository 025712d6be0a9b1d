// Workflows are drawn by key and by mouse, checked while one draws, undone, kept, taken out and in as files.
import assert from 'node:assert/strict';
import { accessible, picture } from './browser.mjs';
import { active, conf, connectByKey, draw, exported, fields, fill, imported, kept, parents, placeOf, right, sheet, task, taskByKey, waitsFor, walkTo } from './flow.mjs';

export const tests = {
	async 'six tasks are drawn by key, connected, undone, and kept over a reload'(browser) {
		const page = await draw(browser);
		await right(page, 'There is no task yet.');
		await accessible(page);
		for (const id of ['a', 'b', 'c', 'd', 'e', 'f'])
			await taskByKey(page, id, `echo ${id} >${id}.out`);
		for (const [from, to] of [['a', 'c'], ['b', 'c'], ['a', 'd'], ['c', 'e'], ['d', 'f'], ['e', 'f']])
			await connectByKey(page, from, to);
		await right(page, 'Nothing is wrong: 6 tasks on 4 levels, at most 2 at once.');
		await waitsFor(page, 'f', ['d', 'e']);
		assert.deepEqual(task(await kept(page), 'a').command, ['/bin/sh', '-c', 'echo a >a.out']);
		await sheet(page).focus();
		await page.keyboard.press('Control+z');
		await waitsFor(page, 'f', ['d']);
		await page.keyboard.press('Control+y');
		await waitsFor(page, 'f', ['d', 'e']);
		await page.getByRole('button', { name: 'Tidy' }).click();
		await accessible(page);
		await picture(page, 'workflow-drawn');
		await page.reload();
		await right(page, 'Nothing is wrong: 6 tasks');
		assert.deepEqual(parents(await kept(page), 'f'), ['d', 'e']);
		await page.goBack();
		await page.goForward();
		await right(page, 'Nothing is wrong: 6 tasks');
		assert.deepEqual(page.wrong, []);
	},

	async 'a circle and a wrong field are told while one draws, and go when they are mended'(browser) {
		const page = await draw(browser);
		await taskByKey(page, 'one', 'true');
		await taskByKey(page, 'two', 'true');
		await connectByKey(page, 'one', 'two');
		await right(page, 'Nothing is wrong: 2 tasks');
		await connectByKey(page, 'two', 'one');
		await page.getByRole('region', { name: 'Check' }).getByText('waits for itself').waitFor();
		assert.ok(await page.getByRole('button', { name: 'Submit …' }).isDisabled());
		await accessible(page);
		await picture(page, 'workflow-circle');
		await page.getByRole('region', { name: 'Check' }).getByRole('button').click();
		await fields(page).getByText('waits for itself').waitFor();
		await page.getByRole('button', { name: 'Undo' }).click();
		await right(page, 'Nothing is wrong: 2 tasks');
		await walkTo(page, 'two');
		await fill(page, 'memory', 'much');
		await fields(page).getByText('A size is wanted').waitFor();
		assert.equal(task(await kept(page), 'two').memory_bytes, 0);
		await fill(page, 'memory', '2 GiB');
		await fill(page, 'nodes', '3');
		for (let i = 0; i < 200 && task(await kept(page), 'two').nodes !== 3; i++)
			await page.waitForTimeout(50);
		assert.deepEqual([task(await kept(page), 'two').nodes, task(await kept(page), 'two').memory_bytes], [3, 2 ** 31]);
		await right(page, 'Nothing is wrong: 2 tasks');
		await fill(page, 'id', 'one');
		await fields(page).getByText('A name is wanted that no other task has.').waitFor();
	},

	async 'tasks and a file are drawn, connected, moved and removed by mouse'(browser) {
		const page = await draw(browser);
		const area = await sheet(page).boundingBox();
		await page.mouse.dblclick(area.x + 200, area.y + 80);
		await active(page).getByText('task task-1,').waitFor({ state: 'attached' });
		await page.mouse.dblclick(area.x + 200, area.y + 300);
		await active(page).getByText('task task-2,').waitFor({ state: 'attached' });
		await page.getByRole('button', { name: 'File', exact: true }).click();
		const file = await placeOf(page, 'file-1');
		const pull = async (from, to) => {
			await page.mouse.move(from.x, from.y + (from.h ?? 20));
			await page.mouse.down();
			await page.mouse.move(to.x + 5, to.y - 5, { steps: 4 });
			await page.mouse.up();
		};
		await pull(await placeOf(page, 'task-1'), file);
		await page.getByText('task-1 is connected to file-1.').waitFor();
		await pull({ ...file, h: 14 }, await placeOf(page, 'task-2'));
		await page.getByText('file-1 is connected to task-2.').waitFor();
		await pull({ ...file, h: 0 }, { x: file.x + 150, y: file.y + 10 });
		const doc = await kept(page);
		assert.deepEqual([doc.tasks[0].outputs, doc.tasks[1].inputs], [[doc.files[0].key], [doc.files[0].key]]);
		assert.ok(Math.abs(doc.files[0].x - doc.tasks[1].x) > 100, JSON.stringify(doc));
		await page.getByRole('button', { name: 'Remove', exact: true }).first().click();
		assert.deepEqual([(await kept(page)).files, (await kept(page)).tasks[0].outputs], [[], []]);
		await page.getByRole('button', { name: 'Undo' }).click();
		assert.equal((await kept(page)).files.length, 1);
		assert.deepEqual(page.wrong, []);
	},

	async 'what goes out as a file of any form comes in the same'(browser) {
		const page = await draw(browser);
		await imported(page, 'six.conf', conf);
		await right(page, 'Nothing is wrong: 6 tasks on 4 levels');
		const d = task(await kept(page), 'd');
		assert.deepEqual([d.retries, d.when_failed, d.memory_bytes, d.time_ms, d.environment], [2, 'hold', 3000000, 61500, ['A=b c']]);
		const first = await exported(page, 'wfformat');
		for (const [form, begins] of [['wfformat', '{"name":"six"'], ['dax', '<?xml'], ['conf', ' name = "six"']]) {
			const text = await exported(page, form);
			assert.ok(text.startsWith(begins), text.slice(0, 80));
			await page.getByRole('button', { name: 'Empty' }).click();
			await right(page, 'There is no task yet.');
			await imported(page, `six.${form}`, text);
			await right(page, 'Nothing is wrong: 6 tasks on 4 levels');
			assert.equal(await exported(page, 'wfformat'), first, form);
		}
		await imported(page, 'bad.conf', 'tasks = (\n{ id = "a"; parents = [ "b" ]; } );');
		await page.getByText('bad.conf: workflow:2: task "a": parents: "b": no such task').waitFor();
		assert.equal((await kept(page)).tasks.length, 6);
		assert.deepEqual(page.wrong.filter((w) => !w.includes('400')), []);
	},
};
