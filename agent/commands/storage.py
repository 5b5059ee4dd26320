"""What the commands that only touch the store share: the store without models, or with the encoder and the indexes."""

from agent.settings import Settings, load_settings
from tools.database import Database
from tools.store import Store


def open_store() -> tuple[Store, Settings]:
    """The store of the settings in force."""
    settings = load_settings()
    return Store(Database(settings.database_path)), settings
