# Owns what is read from a program before it runs, and what is changed in it: the plan that the host reviews, and calls that
# are to go on while others are made. Both work on the one tree that is compiled.
import _ast

_NAMES = frozenset(
    "open exec eval compile input __import__ globals locals vars breakpoint __builtins__ __loader__ __spec__ memoryview".split()
)
_DUNDERS = frozenset(
    "__name__ __doc__ __class__ __dict__ __init__ __new__ __post_init__ __repr__ __str__ __len__ __iter__ __next__ __getitem__ "
    "__setitem__ __delitem__ __contains__ __call__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __bool__ __add__ __sub__ "
    "__mul__ __truediv__ __enter__ __exit__ __aenter__ __aexit__ __await__ __aiter__ __anext__ __cause__ __context__ "
    "__suppress_context__ __notes__ __traceback__ __annotations__ __qualname__ __module__ __members__ __missing__ __slots__ "
    "__dataclass_fields__ __setattr__ __getattr__ __delattr__ __init_subclass__ __set_name__ __version__ __wrapped__ "
    "__format__ __int__ __float__ __index__ __reversed__ __radd__ __iadd__ __and__ __or__ __xor__ __neg__ __abs__ "
    "__match_args__ __class_getitem__ __copy__ __deepcopy__ __date__ __main__ __all__ __future__".split()
)
_SYS = frozenset(
    "modules _getframe settrace setprofile _current_frames meta_path path_hooks path_importer_cache addaudithook "
    "_current_exceptions setrecursionlimit set_asyncgen_hooks __stdin__ __stdout__ __stderr__".split()
)
_SINKS = frozenset("gather create_task ensure_future wait_for shield as_completed run_coroutine_threadsafe".split())
_ASYNCIO_SINKS = frozenset(("run", "wait"))
_SCOPES = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.Lambda)
_LOOPS = (_ast.For, _ast.AsyncFor, _ast.While, _ast.ListComp, _ast.SetComp, _ast.DictComp, _ast.GeneratorExp) + _SCOPES


def _children(node):
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, _ast.AST):
            yield field, None, value
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, _ast.AST):
                    yield field, index, item


class _Reading:
    """Everything that is known of a tree after one walk."""

    def __init__(self, tree):
        self.tree = tree
        self.nodes = 0
        self.calls, self.imports, self.problems = [], [], []
        self.attributes, self.assigned, self.functions = [], {}, {}
        self.awaits, self.sinks, self.all_calls, self.returns, self.adding = [], [], [], [], []
        self.needs_asyncio = False
        self.sys_names = set()
        self.where = {}
        self.walk()

    def walk(self):
        stack = [(self.tree, None, None, None, False, None, None)]
        while stack:
            node, parent, field, index, loops, function, plain = stack.pop()
            self.nodes += 1
            if self.nodes > 20000:
                self.problems.append([getattr(node, "lineno", 0), "size", "20,000 nodes"])
                return
            self.where[id(node)] = (parent, field, index, loops, function, plain)
            self.look(node, function)
            inner = loops or isinstance(node, _LOOPS)
            if isinstance(node, _SCOPES):
                function = node
            # What an `await` cannot be put into: a generator, or a comprehension.
            if isinstance(node, (_ast.ListComp, _ast.SetComp, _ast.DictComp, _ast.GeneratorExp)):
                plain = node
            elif isinstance(node, _SCOPES):
                plain = None
            children = list(_children(node))
            for child_field, child_index, child in reversed(children):
                stack.append((child, node, child_field, child_index, inner, function, plain))

    def look(self, node, function):
        kind = type(node)
        if kind is _ast.Import:
            for alias in node.names:
                self.imported(node.lineno, alias.name)
                if alias.name == "sys":
                    self.sys_names.add(alias.asname or "sys")
        elif kind is _ast.ImportFrom:
            module = ("." * node.level) + (node.module or "")
            self.imported(node.lineno, module, [alias.name for alias in node.names])
            if module == "sys":
                for alias in node.names:
                    if alias.name in _SYS:
                        self.problems.append([node.lineno, "attribute", "sys." + alias.name])
        elif kind is _ast.Name:
            if node.id in _NAMES:
                self.problems.append([node.lineno, "name", node.id])
        elif kind is _ast.Attribute:
            self.attributes.append(node)
            name = node.attr
            if name.startswith("__") and name.endswith("__") and name not in _DUNDERS:
                self.problems.append([node.lineno, "attribute", name])
            elif type(node.value) is _ast.Name and node.value.id in self.sys_names and name in _SYS:
                self.problems.append([node.lineno, "attribute", "sys." + name])
        elif kind is _ast.Call:
            self.all_calls.append(node)
            name, base = _called(node)
            if name in _SINKS or (name in _ASYNCIO_SINKS and base == "asyncio"):
                self.sinks.append(node)
            elif name in ("append", "add", "extend", "insert", "put", "put_nowait", "setdefault") and base is not None:
                self.adding.append((base, node))
        elif kind is _ast.Await:
            self.awaits.append(node)
        elif kind is _ast.Return:
            self.returns.append((function, node))
        elif kind in (_ast.AsyncFunctionDef, _ast.AsyncFor, _ast.AsyncWith):
            self.needs_asyncio = self.needs_asyncio or kind is not _ast.AsyncFunctionDef
            if kind is _ast.AsyncFunctionDef:
                self.functions.setdefault(node.name, []).append(node)
        elif kind is _ast.FunctionDef:
            self.functions.setdefault(node.name, []).append(node)
        elif kind is _ast.Assign:
            for target in node.targets:
                self.bind(target, node.value)
        elif kind in (_ast.AnnAssign, _ast.AugAssign, _ast.NamedExpr):
            if node.value is not None:
                self.bind(node.target, node.value)
        elif kind in (_ast.For, _ast.AsyncFor, _ast.comprehension):
            self.bind(node.target, node.iter)

    def bind(self, target, value):
        if type(target) is _ast.Name:
            self.assigned.setdefault(target.id, []).append(value)
        elif type(target) in (_ast.Tuple, _ast.List):
            items = value.elts if type(value) in (_ast.Tuple, _ast.List) and len(value.elts) == len(target.elts) else None
            for index, item in enumerate(target.elts):
                self.bind(item, items[index] if items else value)
        elif type(target) is _ast.Subscript and type(target.value) is _ast.Name:
            self.assigned.setdefault(target.value.id, []).append(value)
        elif type(target) is _ast.Starred:
            self.bind(target.value, value)

    def imported(self, line, module, names=()):
        self.imports.append([line, module, list(names)])
        if module == "asyncio" or module.startswith("asyncio."):
            self.needs_asyncio = True

    def tool(self, node, aliases):
        """The server and the tool that an expression names, if it can be seen."""
        if type(node) is not _ast.Attribute:
            return None
        base = node.value
        if type(base) is _ast.Name and base.id in aliases:
            return aliases[base.id], node.attr
        server = _server_of(base)
        return (server, node.attr) if server is not None else None

    def finish(self):
        aliases = {}
        for name, values in self.assigned.items():
            if len(values) == 1:
                server = _server_of(values[0])
                if server is not None:
                    aliases[name] = server
        self.aliases = aliases
        called = set()
        for call in self.all_calls:
            named = self.tool(call.func, aliases)
            if named is None:
                continue
            called.add(id(call.func))
            words = [keyword.arg for keyword in call.keywords if keyword.arg is not None]
            open_ended = len(words) != len(call.keywords) or any(type(arg) is _ast.Starred for arg in call.args)
            loops = self.where[id(call)][3]
            self.calls.append([call.lineno, call.col_offset, named[0], named[1], len(call.args), words, open_ended, loops])
        for node in self.attributes:
            named = self.tool(node, aliases)
            if named is not None and id(node) not in called:
                if not (type(node.value) is _ast.Name and node.value.id == "device"):
                    self.calls.append([node.lineno, node.col_offset, named[0], named[1], -1, [], True, True])
        self.calls.sort(key=lambda call: call[:2])


def _server_of(node):
    """`device.X`, `devices.local.X`, and `devices.place.X` of a hub."""
    if type(node) is not _ast.Attribute:
        return None
    base = node.value
    if type(base) is _ast.Name and base.id == "device" and node.attr not in ("describe", "search"):
        return node.attr
    if type(base) is _ast.Attribute and type(base.value) is _ast.Name and base.value.id == "devices":
        return node.attr if base.attr == "local" else "devices.%s.%s" % (base.attr, node.attr)
    return None


def _called(call):
    function = call.func
    if type(function) is _ast.Name:
        return function.id, None
    if type(function) is _ast.Attribute:
        return function.attr, function.value.id if type(function.value) is _ast.Name else None
    return None, None


class _Rewriting:
    """Marks what is going to be awaited, from where it is awaited back to where it is made."""

    def __init__(self, reading):
        self.reading = reading
        self.lazy_calls, self.lazy_names, self.lazy_functions, self.lazy_maps = {}, set(), set(), []

    def mark(self, node, depth=0):
        kind = type(node)
        if depth > 50:
            return
        if kind is _ast.Call:
            self.mark_call(node, depth)
        elif kind is _ast.Name:
            self.mark_name(node.id, depth)
        elif kind in (_ast.List, _ast.Tuple, _ast.Set):
            for item in node.elts:
                self.mark(item, depth + 1)
        elif kind is _ast.Dict:
            for item in node.values:
                self.mark(item, depth + 1)
        elif kind in (_ast.Starred, _ast.NamedExpr, _ast.Subscript, _ast.DictComp):
            self.mark(node.value, depth + 1)
        elif kind in (_ast.ListComp, _ast.SetComp, _ast.GeneratorExp):
            self.mark(node.elt, depth + 1)
        elif kind is _ast.IfExp:
            self.mark(node.body, depth + 1)
            self.mark(node.orelse, depth + 1)
        elif kind is _ast.BinOp and type(node.op) is _ast.Add:
            self.mark(node.left, depth + 1)
            self.mark(node.right, depth + 1)

    def mark_call(self, node, depth):
        if id(node) in self.lazy_calls:
            return
        name, base = _called(node)
        function = node.func
        if type(function) is _ast.Attribute and name in ("values", "items", "copy") and not node.args:
            self.mark(function.value, depth + 1)
            return
        if type(function) is _ast.Name and name in ("list", "tuple", "set", "dict", "reversed", "sorted", "zip", "enumerate"):
            for arg in node.args:
                self.mark(arg, depth + 1)
            return
        if type(function) is _ast.Name and name == "map" and node.args:
            if type(node.args[0]) is _ast.Lambda:
                self.mark(node.args[0].body, depth + 1)
            else:
                self.lazy_maps.append(node)
            return
        self.lazy_calls[id(node)] = node
        if type(function) is _ast.Name:
            self.mark_function(name, depth)

    def mark_function(self, name, depth):
        if name in self.lazy_functions:
            return
        defined = self.reading.functions.get(name, ())
        lambdas = [value for value in self.reading.assigned.get(name, ()) if type(value) is _ast.Lambda]
        if not lambdas and not any(type(item) is _ast.FunctionDef for item in defined):
            return
        self.lazy_functions.add(name)
        for value in lambdas:
            self.mark(value.body, depth + 1)
        for function, node in self.reading.returns:
            if function in defined and type(function) is _ast.FunctionDef and node.value is not None:
                self.mark(node.value, depth + 1)

    def mark_name(self, name, depth):
        if name in self.lazy_names:
            return
        self.lazy_names.add(name)
        for value in self.reading.assigned.get(name, ()):
            self.mark(value, depth + 1)
        for base, call in self.reading.adding:
            if base == name:
                for arg in call.args:
                    self.mark(arg, depth + 1)

    def apply(self):
        reading = self.reading
        for node in reading.awaits:
            self.mark(node.value)
        for call in reading.sinks:
            for arg in call.args:
                self.mark(arg)
        awaited = set(id(node.value) for node in reading.awaits)
        for call in reading.all_calls:
            parent, field, index, _, function, plain = reading.where[id(call)]
            is_tool = reading.tool(call.func, reading.aliases) is not None
            if id(call) in self.lazy_calls:
                if _called(call)[0] not in _SINKS:
                    call.args.insert(0, call.func)
                    call.func = _at(call, _ast.Name(id="__helve_later__", ctx=_ast.Load()))
            elif is_tool and type(function) is _ast.AsyncFunctionDef and plain is None:
                # An `await` that was forgotten: others go on meanwhile, and the order stays.
                call.args.insert(0, call.func)
                call.func = _at(call, _ast.Name(id="__helve_later__", ctx=_ast.Load()))
                self.replace(call, _at(call, _ast.Await(value=call)))
            elif type(call.func) is _ast.Name and call.func.id in self.lazy_functions and id(call) not in awaited:
                self.replace(call, _call(call, "__helve_now__", [call]))
        for call in self.lazy_maps:
            call.args[0] = _call(call, "__helve_lazy__", [call.args[0]])
        for node in reading.awaits:
            node.value = _call(node, "__helve_awaitable__", [node.value])

    def replace(self, node, new):
        parent, field, index = self.reading.where[id(node)][:3]
        # A call that was changed has its function among its arguments.
        value = getattr(parent, field)
        if index is None:
            if value is node:
                setattr(parent, field, new)
        else:
            for position, item in enumerate(value):
                if item is node:
                    value[position] = new


def _at(node, new):
    new.lineno, new.col_offset = node.lineno, node.col_offset
    new.end_lineno, new.end_col_offset = node.end_lineno, node.end_col_offset
    return new


def _call(node, name, args):
    function = _at(node, _ast.Name(id=name, ctx=_ast.Load()))
    return _at(node, _ast.Call(func=function, args=args, keywords=[]))


def _make_returns(statements):
    """Turns a `return` outside of functions into what ends the program. True when there was one."""
    found = False
    for index, node in enumerate(statements):
        kind = type(node)
        if kind is _ast.Return:
            value = [node.value] if node.value is not None else []
            statements[index] = _at(node, _ast.Expr(value=_call(node, "__helve_return__", value)))
            found = True
            continue
        if kind in _SCOPES or kind is _ast.ClassDef:
            continue
        here = False
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(node, field, None)
            if isinstance(inner, list):
                here = _make_returns(inner) or here
        for handler in list(getattr(node, "handlers", ())) + list(getattr(node, "cases", ())):
            here = _make_returns(handler.body) or here
        if here and kind is _ast.Try and node.handlers:
            name = _at(node, _ast.Name(id="__helve_Return__", ctx=_ast.Load()))
            raising = _at(node, _ast.Raise(exc=None, cause=None))
            node.handlers.insert(0, _at(node, _ast.ExceptHandler(type=name, name=None, body=[raising])))
        found = found or here
    return found


def _keep_last(tree):
    """The last expression of a program is its value."""
    last = tree.body[-1] if tree.body else None
    if type(last) is _ast.Expr:
        target = _at(last, _ast.Name(id="__helve_value__", ctx=_ast.Store()))
        tree.body[-1] = _at(last, _ast.Assign(targets=[target], value=last.value, type_comment=None))
