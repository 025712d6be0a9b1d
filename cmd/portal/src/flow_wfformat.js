// Workflows as WfFormat 1.5, the JSON that the head takes and gives; what that has no word for stands in members "phoenix". Reads what the head
// has found right, and writes what it is asked about: a task a line, so that each finding has its box.
export const when = ['stop', 'go_on', 'hold'];

export const newTask = { name: '', command: [], nodes: 1, cores: 0, memory_bytes: 0, time_ms: 0, run_ms: -1, inputs: [], outputs: [], parents: [], environment: [], retries: 0, when_failed: 'stop' };

function readTask(spec, ran = {}) {
	const ours = ran.phoenix ?? {}, known = ran.runtimeInSeconds !== undefined && ours.runtimeKnown !== false;
	return {
		...newTask, id: spec.id, name: spec.name || spec.id, parents: spec.parents ?? [], inputs: spec.inputFiles ?? [], outputs: spec.outputFiles ?? [],
		command: ran.command ? [ran.command.program, ...(ran.command.arguments ?? [])].filter((w) => w !== undefined) : [],
		cores: ran.coreCount ?? 0, memory_bytes: ran.memoryInBytes ?? 0, run_ms: known ? Math.round(1000 * ran.runtimeInSeconds) : -1,
		nodes: ours.nodes ?? 1, retries: ours.retries ?? 0, when_failed: ours.when_failed ?? 'stop', time_ms: Math.round(1000 * (ours.timeInSeconds ?? 0)),
		environment: ours.environment ?? [],
	};
}

// A flow: { name, tasks, files: [{ name, size_bytes }], byId }; files and parents by their names.
export function readWfFormat(json) {
	const { specification, execution } = json.workflow;
	const ran = new Map((execution?.tasks ?? []).map((t) => [t.id, t]));
	const tasks = specification.tasks.map((t) => readTask(t, ran.get(t.id)));
	const byId = new Map(tasks.map((t) => [t.id, t]));
	for (const t of specification.tasks) // told from one side alone, as some do
		for (const child of t.children ?? [])
			if (!byId.get(child).parents.includes(t.id))
				byId.get(child).parents = [...byId.get(child).parents, t.id];
	const files = new Map((specification.files ?? []).map((f) => [f.id, f.sizeInBytes ?? 0]));
	for (const name of tasks.flatMap((t) => [...t.inputs, ...t.outputs]))
		files.set(name, files.get(name) ?? 0);
	return { name: json.name ?? '', tasks, files: [...files].map(([name, size_bytes]) => ({ name, size_bytes })), byId };
}

const seconds = (ms) => ms / 1000;

function specificationOf(t, children) {
	return { name: t.name || t.id, id: t.id, parents: t.parents, children: children.get(t.id) ?? [], inputFiles: t.inputs, outputFiles: t.outputs };
}

function executionOf(t) {
	const [program, ...words] = t.command;
	return {
		id: t.id, runtimeInSeconds: t.run_ms < 0 ? 0 : seconds(t.run_ms), ...(t.cores ? { coreCount: t.cores } : {}), ...(t.memory_bytes ? { memoryInBytes: t.memory_bytes } : {}),
		...(t.command.length ? { command: { program, arguments: words } } : {}),
		phoenix: {
			nodes: t.nodes, retries: t.retries, when_failed: t.when_failed, ...(t.time_ms ? { timeInSeconds: seconds(t.time_ms) } : {}),
			environment: t.environment, runtimeKnown: t.run_ms >= 0,
		},
	};
}

// { text, lines }: what stands in a line, by its number: { task: ID } or { file: NAME }.
export function writeWfFormat(flow) {
	const children = new Map(), lines = new Map(), out = [];
	for (const t of flow.tasks)
		for (const p of t.parents)
			children.set(p, [...(children.get(p) ?? []), t.id]);
	const put = (list, what, make) => list.forEach((item, i) => {
		out.push(JSON.stringify(make(item)) + (i < list.length - 1 ? ',' : ''));
		lines.set(out.length, what(item));
	});
	out.push(`{"name":${JSON.stringify(flow.name || 'workflow')},"schemaVersion":"1.5","workflow":{"specification":{"tasks":[`);
	put(flow.tasks, (t) => ({ task: t.id }), (t) => specificationOf(t, children));
	out.push('],"files":[');
	put(flow.files, (f) => ({ file: f.name }), (f) => ({ id: f.name, sizeInBytes: f.size_bytes }));
	out.push(']},"execution":{"makespanInSeconds":0,"executedAt":"1970-01-01T00:00:00Z","tasks":[');
	put(flow.tasks, (t) => ({ task: t.id }), executionOf);
	out.push(']}}}');
	return { text: `${out.join('\n')}\n`, lines };
}
