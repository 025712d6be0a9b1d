// A workflow while it is drawn: tasks and files, each a box with a place, that know each other by keys which never change. Each act gives a new
// drawing and leaves the old one as it was: that is what undo goes back to.
import { layOutFlow, sizes } from './flow_layout.js';
import { newTask } from './flow_wfformat.js';

export const emptyDoc = { name: '', next: 1, tasks: [], files: [] };

export const boxOf = (doc, key) => doc.tasks.find((t) => t.key === key) ?? doc.files.find((f) => f.key === key);
export const isFile = (doc, key) => doc.files.some((f) => f.key === key);
export const titleOf = (box) => box?.id ?? box?.name ?? '';

function freeName(word, taken) {
	let n = 1;
	while (taken.includes(`${word}-${n}`))
		n++;
	return `${word}-${n}`;
}

export function addTask(doc, at) {
	const key = `t${doc.next}`, id = freeName('task', doc.tasks.map((t) => t.id));
	return [{ ...doc, next: doc.next + 1, tasks: [...doc.tasks, { ...newTask, key, id, ...at }] }, key];
}

export function addFile(doc, at, name = freeName('file', doc.files.map((f) => f.name))) {
	const key = `f${doc.next}`;
	return [{ ...doc, next: doc.next + 1, files: [...doc.files, { key, name, size_bytes: 0, ...at }] }, key];
}

const changed = (list, key, fields) => list.map((x) => (x.key === key ? { ...x, ...fields } : x));

export const change = (doc, key, fields) => ({ ...doc, tasks: changed(doc.tasks, key, fields), files: changed(doc.files, key, fields) });

const without = (list, key) => (list.includes(key) ? list.filter((k) => k !== key) : list);

export function remove(doc, key) {
	const tasks = doc.tasks.filter((t) => t.key !== key)
		.map((t) => ({ ...t, parents: without(t.parents, key), inputs: without(t.inputs, key), outputs: without(t.outputs, key) }));
	return { ...doc, tasks, files: doc.files.filter((f) => f.key !== key) };
}

// Which list of which task a line between two boxes is in; null: there is no such line.
function linkOf(doc, from, to) {
	const fromFile = isFile(doc, from), toFile = isFile(doc, to);
	if (from === to || (fromFile && toFile))
		return null;
	if (toFile)
		return { task: from, list: 'outputs', item: to };
	return { task: to, list: fromFile ? 'inputs' : 'parents', item: from };
}

// Why it cannot be, or ''.
export function whyNot(doc, from, to) {
	if (from === to)
		return 'A box is not connected with itself.';
	return linkOf(doc, from, to) ? '' : 'Two files are not connected: a task reads one and writes the other.';
}

export function connect(doc, from, to) {
	const link = linkOf(doc, from, to), task = link && boxOf(doc, link.task);
	if (!task || task[link.list].includes(link.item))
		return doc;
	return change(doc, link.task, { [link.list]: [...task[link.list], link.item] });
}

export function disconnect(doc, from, to) {
	const link = linkOf(doc, from, to), task = link && boxOf(doc, link.task);
	return task ? change(doc, link.task, { [link.list]: without(task[link.list], link.item) }) : doc;
}

export function edgesOf(doc) {
	const edge = (from, to, look = '') => ({ key: `${from}>${to}`, from, to, look });
	return doc.tasks.flatMap((t) => [
		...t.inputs.map((f) => edge(f, t.key)), ...t.outputs.map((f) => edge(t.key, f)), ...t.parents.map((p) => edge(p, t.key, 'order')),
	]);
}

// By file: the tasks that write it.
export function writersOf(tasks) {
	const writers = new Map();
	for (const t of tasks)
		for (const f of t.outputs)
			writers.set(f, [...(writers.get(f) ?? []), t]);
	return writers;
}

// Who reads what one other task writes waits for it, whether a line says so or not.
export function toFlow(doc) {
	const names = new Map([...doc.tasks, ...doc.files].map((b) => [b.key, titleOf(b)])), writers = writersOf(doc.tasks);
	const tasks = doc.tasks.map(({ key, x, y, ...t }) => {
		const makers = t.inputs.flatMap((f) => writers.get(f) ?? []).map((w) => w.key).filter((k) => k !== key);
		const name = (k) => names.get(k);
		return { ...t, parents: [...new Set([...t.parents, ...makers])].map(name), inputs: t.inputs.map(name), outputs: t.outputs.map(name) };
	});
	return { name: doc.name, tasks, files: doc.files.map((f) => ({ name: f.name, size_bytes: f.size_bytes })) };
}

export function tidy(doc) {
	const boxes = [...doc.tasks.map((t) => ({ key: t.key, kind: 'task' })), ...doc.files.map((f) => ({ key: f.key, kind: 'file' }))];
	if (!boxes.length)
		return doc;
	const places = layOutFlow(boxes, edgesOf(doc));
	const put = (b) => ({ ...b, ...places.get(b.key) });
	return { ...doc, tasks: doc.tasks.map(put), files: doc.files.map(put) };
}

export function fromFlow(flow) {
	const taskKeys = new Map(flow.tasks.map((t, i) => [t.id, `t${i + 1}`]));
	const fileKeys = new Map(flow.files.map((f, i) => [f.name, `f${flow.tasks.length + i + 1}`]));
	const writers = writersOf(flow.tasks);
	const tasks = flow.tasks.map((t) => {
		const makers = new Set(t.inputs.flatMap((f) => writers.get(f) ?? []).map((w) => w.id));
		return {
			...t, name: t.name === t.id ? '' : t.name, key: taskKeys.get(t.id), inputs: t.inputs.map((f) => fileKeys.get(f)), outputs: t.outputs.map((f) => fileKeys.get(f)),
			parents: t.parents.filter((p) => !makers.has(p)).map((p) => taskKeys.get(p)),
		};
	});
	const files = flow.files.map((f) => ({ ...f, key: fileKeys.get(f.name) }));
	return tidy({ name: flow.name, next: tasks.length + files.length + 1, tasks, files });
}

// As the sheet shows it. bad: keys of what findings are about.
export function drawingOf(doc, bad) {
	const writers = writersOf(doc.tasks);
	const about = (key) => (bad.has(key) ? ', something is wrong with it' : '');
	const tasks = doc.tasks.map((t) => ({
		key: t.key, kind: 'task', x: t.x, y: t.y, ...sizes.task, title: t.id, sub: t.command.join(' ') || 'no command yet', bad: bad.has(t.key),
		words: `task ${t.id}, ${t.inputs.length} files read, ${t.outputs.length} written, waits for ${t.parents.length}${about(t.key)}`,
	}));
	const files = doc.files.map((f) => ({
		key: f.key, kind: 'file', x: f.x, y: f.y, ...sizes.file, title: f.name, outside: !writers.has(f.key), bad: bad.has(f.key),
		words: `file ${f.name}, ${writers.has(f.key) ? `written by ${writers.get(f.key).map((t) => t.id).join(' and ')}` : 'from outside'}${about(f.key)}`,
	}));
	return { boxes: [...tasks, ...files], edges: edgesOf(doc) };
}
